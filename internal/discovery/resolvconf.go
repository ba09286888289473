package discovery

import (
	"cmp"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// resolvConf is what a question needs of resolv.conf(5).
type resolvConf struct {
	servers  []string // host:port
	search   []string // suffixes, without dots at the ends
	ndots    int      // a name with as many dots is tried as it is first
	timeout  time.Duration
	attempts int
}

const defaultResolvConf = "/etc/resolv.conf"

// conf reads the file anew, since it may change, and cannot be missed: without it
// a server on this machine is asked, as the C library does.
func (r *Resolver) conf() *resolvConf {
	c := &resolvConf{ndots: 1, timeout: 5 * time.Second, attempts: 2}
	if text, err := os.ReadFile(cmp.Or(r.File, defaultResolvConf)); err == nil {
		for line := range strings.Lines(string(text)) {
			c.read(strings.Fields(line))
		}
	}
	if r.Servers != nil {
		c.servers = r.Servers
	}
	if len(c.servers) == 0 {
		c.servers = []string{"127.0.0.1:53"}
	}
	c.timeout = cmp.Or(r.Timeout, c.timeout)
	return c
}

func (c *resolvConf) read(words []string) {
	if len(words) < 2 {
		return
	}
	switch words[0] {
	case "nameserver":
		c.servers = append(c.servers, net.JoinHostPort(words[1], "53"))
	case "search", "domain": // the last of them counts
		c.search = nil
		for _, suffix := range words[1:] {
			c.search = append(c.search, strings.Trim(suffix, "."))
		}
	case "options":
		for _, option := range words[1:] {
			c.option(option)
		}
	}
}

// option reads one of the options that concern us, within the limits of
// resolv.conf(5).
func (c *resolvConf) option(word string) {
	name, value, _ := strings.Cut(word, ":")
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return
	}
	switch name {
	case "ndots":
		c.ndots = min(n, 15)
	case "timeout":
		c.timeout = time.Duration(min(max(n, 1), 30)) * time.Second
	case "attempts":
		c.attempts = min(max(n, 1), 5)
	}
}

// candidates returns the full names that a name may be short for, in the order to
// ask for them.
func (c *resolvConf) candidates(name string) []string {
	if strings.HasSuffix(name, ".") {
		return []string{name}
	}
	var list []string
	for _, suffix := range c.search {
		list = append(list, strings.TrimSuffix(name+"."+suffix, ".")+".")
	}
	if strings.Count(name, ".") >= c.ndots {
		return append([]string{name + "."}, list...)
	}
	return append(list, name+".")
}
