package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"graylane/internal/upstream"
)

// DNS finds the addresses of a host. All of them are used, IPv4 and IPv6.
type DNS struct {
	Host     string // an IP address finds itself
	Port     string // "": endpoints keep the port that the caller names
	Resolver *Resolver
	// Needed says that an answer without addresses is a failure: there is nothing
	// to fall back to, and who has just gone may be back before it is asked for.
	Needed bool
}

// String is part of [Source].
func (d *DNS) String() string {
	return fmt.Sprintf("dns %s:%s%s", d.Host, d.Port, neededMark(d.Needed))
}

// Run is part of [Source].
func (d *DNS) Run(ctx context.Context, to Sink, doubts <-chan struct{}) {
	var last []netip.Addr
	poll(ctx, func(ctx context.Context) ([]upstream.Target, time.Duration, error) { return d.ask(ctx, &last) }, to, doubts)
}

// ask asks once. Addresses of a kind that cannot be had now stay what they were in
// last, and that is a failure; where there were none, nothing is missed.
func (d *DNS) ask(ctx context.Context, last *[]netip.Addr) ([]upstream.Target, time.Duration, error) {
	if addr, err := netip.ParseAddr(d.Host); err == nil {
		return []upstream.Target{{Address: address(addr, d.Port), Weight: 1}}, mostTTL, nil
	}
	found, err := d.Resolver.addresses(ctx, d.Host)
	if err == nil && len(found.list) == 0 && d.Needed {
		err = errNoAddress
	}
	if err != nil {
		return nil, 0, fmt.Errorf("looking up %s: %w", d.Host, err)
	}
	missing := keepKind(&found, *last)
	*last = found.list
	targets := make([]upstream.Target, len(found.list))
	for i, addr := range found.list {
		targets[i] = upstream.Target{Address: address(addr, d.Port), Weight: 1}
	}
	if missing != nil {
		return targets, 0, fmt.Errorf("looking up %s: %w", d.Host, missing)
	}
	return targets, found.ttl, nil
}

// keepKind adds to what was found what was known of the kind of addresses that could
// not be had. The error is why, if there was any.
func keepKind(f *found[netip.Addr], last []netip.Addr) error {
	if f.missing == nil {
		return nil
	}
	found := len(f.list)
	for _, addr := range last {
		if addr.Is4() != f.list[0].Is4() {
			f.list = append(f.list, addr)
		}
	}
	if len(f.list) == found {
		return nil
	}
	slices.SortFunc(f.list, netip.Addr.Compare)
	return f.missing
}

// SRV finds services: addresses with their ports and weights (RFC 2782).
type SRV struct {
	Name     string // _http._tcp.users.shop
	Resolver *Resolver
	Needed   bool // as of [DNS]
}

// String is part of [Source].
func (s *SRV) String() string { return "dnsSRV " + s.Name + neededMark(s.Needed) }

// Run is part of [Source].
func (s *SRV) Run(ctx context.Context, to Sink, doubts <-chan struct{}) {
	var last map[string][]netip.Addr
	poll(ctx, func(ctx context.Context) ([]upstream.Target, time.Duration, error) { return s.ask(ctx, &last) }, to, doubts)
}

// ask asks once, with last, by host, as [DNS] does.
func (s *SRV) ask(ctx context.Context, last *map[string][]netip.Addr) ([]upstream.Target, time.Duration, error) {
	services, err := s.Resolver.services(ctx, s.Name)
	if err != nil {
		return nil, 0, fmt.Errorf("looking up %s: %w", s.Name, err)
	}
	ttl := services.ttl
	known := make(map[string][]netip.Addr)
	var targets []upstream.Target
	var missing error
	for _, service := range best(services.list) {
		found, err := s.Resolver.addresses(ctx, service.host)
		if err != nil {
			return nil, 0, fmt.Errorf("looking up %s, which %s names: %w", service.host, s.Name, err)
		}
		if err := keepKind(&found, (*last)[service.host]); err != nil {
			missing = fmt.Errorf("looking up %s, which %s names: %w", service.host, s.Name, err)
		}
		known[service.host] = found.list
		ttl = min(ttl, found.ttl)
		for _, addr := range found.list {
			targets = append(targets, upstream.Target{
				Address: address(addr, strconv.Itoa(int(service.port))), Weight: int(service.weight),
			})
		}
	}
	if len(targets) == 0 && s.Needed {
		return nil, 0, fmt.Errorf("looking up %s: %w", s.Name, errNoAddress)
	}
	*last = known
	return targets, ttl, missing
}

// best returns the services of the lowest priority, which is the one to try
// first, in an order that does not depend on that of the answer. A weight of 0
// beside others is a very small one (RFC 2782); for an endpoint it would be none.
func best(services []service) []service {
	if len(services) == 0 {
		return nil
	}
	first := slices.MinFunc(services, func(a, b service) int { return cmp.Compare(a.priority, b.priority) }).priority
	var list []service
	for _, s := range services {
		if s.priority == first && s.host != "." { // "." says that there is no such service
			s.weight = max(s.weight, 1)
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b service) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.port, b.port))
	})
	return list
}

func address(addr netip.Addr, port string) string {
	if port == "" {
		if addr.Is6() {
			return "[" + addr.String() + "]"
		}
		return addr.String()
	}
	return net.JoinHostPort(addr.String(), port)
}

func neededMark(needed bool) string {
	if needed {
		return " (needed)"
	}
	return ""
}

var errNoAddress = errors.New("the answer has no address")
