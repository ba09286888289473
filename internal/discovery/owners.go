package discovery

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Place is where a service is found.
type Place struct {
	Service string
	// Names are hosts and addresses, with or without a port; one without stands
	// for every port. Names with a * are left out.
	Names []string
	// Found is what sources find of it. Each is of [Owners.Endpoints].
	Found []*Endpoints
}

const (
	// again is how often names are resolved: the addresses of Kubernetes services
	// do not change, and names of other kinds are found by their Host.
	again = time.Minute
	// soon is when names that were never resolved are tried again, each time twice
	// as long after the last.
	soon = 2 * time.Second
	// patience is for one name.
	patience = 2 * time.Second
	// atOnce is how many names are being resolved at a time.
	atOnce = 8
)

// Owners answers the question that a redirected call asks: which service does an
// address belong to? It resolves no name before
// the first question, so that a sidecar whose calls are not redirected asks no
// DNS. The zero value works.
type Owners struct {
	Names *Resolver    // required before Run
	Log   *slog.Logger // nil: nothing is logged

	table  atomic.Pointer[owners]
	asked  atomic.Bool
	once   sync.Once
	wakeup chan struct{}

	// resolver is for tests; nil: Names.
	resolver func(ctx context.Context, host string) (found[netip.Addr], error)

	mu     sync.Mutex
	places []place
	known  map[string][]netip.Addr // what names resolved to last
}

// owners gives the service of an address and port; port 0 stands for every port
// that has no entry of its own. "" is an address of several services.
type owners map[netip.AddrPort]string

// place is a Place that was read.
type place struct {
	service string
	names   []name
	found   []*Endpoints
}

// each calls f with every name of the place, those that were found included.
func (p *place) each(f func(name)) {
	for _, n := range p.names {
		f(n)
	}
	for _, e := range p.found {
		for _, n := range e.names {
			f(n)
		}
	}
}

// Set replaces all places. Addresses count at once, names when they are resolved,
// those that were known already at once too.
func (o *Owners) Set(places []Place) {
	o.mu.Lock()
	o.use(false)
	o.places = make([]place, 0, len(places))
	for _, p := range places {
		o.places = append(o.places, place{service: p.Service, names: readNames(p.Names), found: p.Found})
	}
	o.use(true)
	o.publish()
	o.mu.Unlock()
	o.wake()
}

// At gives the service that an address and port belong to, "" if none or more
// than one. It does not wait and does not allocate.
func (o *Owners) At(addr netip.AddrPort) string {
	if !o.asked.Load() && !o.asked.Swap(true) {
		o.wake()
	}
	table := o.table.Load()
	if table == nil {
		return ""
	}
	if service, ok := (*table)[addr]; ok {
		return service
	}
	return (*table)[netip.AddrPortFrom(addr.Addr(), 0)]
}

// Run resolves names until ctx ends.
func (o *Owners) Run(ctx context.Context) {
	wait := soon
	timer := time.NewTimer(again)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wakes():
			wait = soon
		case <-timer.C:
			wait = min(2*wait, again)
		}
		if !o.asked.Load() || !o.resolve(ctx) {
			wait = again
		}
		timer.Reset(wait)
	}
}

func (o *Owners) wakes() chan struct{} {
	o.once.Do(func() { o.wakeup = make(chan struct{}, 1) })
	return o.wakeup
}

func (o *Owners) wake() {
	select {
	case o.wakes() <- struct{}{}:
	default:
	}
}

// resolve looks up every name once. A name that fails keeps what it had. It
// reports whether there are names that have nothing.
func (o *Owners) resolve(ctx context.Context) (missing bool) {
	hosts, last := o.hosts()
	found := make([][]netip.Addr, len(hosts))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, host := range hosts {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			found[i] = o.lookup(ctx, host, last[host])
		})
	}
	group.Wait()

	o.mu.Lock()
	defer o.mu.Unlock()
	known := make(map[string][]netip.Addr, len(hosts))
	for i, host := range hosts {
		if known[host] = found[i]; found[i] == nil {
			known[host] = o.known[host]
		}
		missing = missing || known[host] == nil
	}
	o.known = known
	o.publish()
	return missing
}

// lookup gives what is known of a host, which was last that; nil: nothing new.
func (o *Owners) lookup(ctx context.Context, host string, last []netip.Addr) []netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lookup := o.resolver
	if lookup == nil {
		lookup = o.Names.addresses
	}
	answer, err := lookup(ctx, host)
	if err != nil {
		if o.Log != nil {
			o.Log.Debug("host of a service cannot be resolved", "host", host, "error", err)
		}
		return nil
	}
	_ = keepKind(&answer, last) // who asks for its endpoints hears of it
	return answer.list
}

// hosts gives every name that is no address, once, and what they resolved to last.
func (o *Owners) hosts() ([]string, map[string][]netip.Addr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var hosts []string
	for _, p := range o.places {
		p.each(func(n name) {
			if _, ok := n.addr(); !ok {
				hosts = append(hosts, n.host)
			}
		})
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), o.known
}

// publish makes the table anew; o.mu is held.
func (o *Owners) publish() {
	table := make(owners)
	for _, p := range o.places {
		p.each(func(n name) {
			addrs := o.known[n.host]
			if addr, ok := n.addr(); ok {
				addrs = []netip.Addr{addr}
			}
			for _, addr := range addrs {
				table.add(netip.AddrPortFrom(addr.Unmap().WithZone(""), n.port), p.service)
			}
		})
	}
	o.table.Store(&table)
}

func (t owners) add(addr netip.AddrPort, service string) {
	if other, ok := t[addr]; ok && other != service {
		service = ""
	}
	t[addr] = service
}
