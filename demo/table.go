package main

import (
	"fmt"
	"strings"
)

// visit is what became of one user's request.
type visit struct {
	user int
	tags []string // the version that served at each hop, in the order of services
}

// table shows a column for each visit and a row for each service.
func table(visits []visit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-8s", "user")
	for _, v := range visits {
		fmt.Fprintf(&b, "%5d", v.user)
	}
	for hop, service := range services {
		fmt.Fprintf(&b, "\n  %-8s", service)
		for _, v := range visits {
			fmt.Fprintf(&b, "%5s", v.tags[hop])
		}
	}
	return b.String() + "\n"
}

// parseVisit reads the answer of the chain, "front-gray -> orders-gray -> users-base".
func parseVisit(user int, answer string) (visit, error) {
	v := visit{user: user}
	for hop, name := range strings.Split(strings.TrimSpace(answer), " -> ") {
		service, tag, found := strings.Cut(name, "-")
		if !found || hop >= len(services) || service != services[hop] {
			return v, fmt.Errorf("user %d got an unexpected answer: %q", user, answer)
		}
		v.tags = append(v.tags, tag)
	}
	if len(v.tags) != len(services) {
		return v, fmt.Errorf("user %d got an incomplete answer: %q", user, answer)
	}
	return v, nil
}
