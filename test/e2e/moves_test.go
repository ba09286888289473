package e2e

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
)

// TestNoRequestGoesAstrayWhileEndpointsMove changes where versions are, and which there are, under load. A request may
// be served as any policy says that was in force at some moment between its beginning and its end, and by nobody else:
// so no base request ever comes to an address that was gray before a change and after it.
func TestNoRequestGoesAstrayWhileEndpointsMove(t *testing.T) {
	t.Parallel()
	m := newMesh(t, shape{
		services: []service{{name: "front", tags: baseOnly}, {name: "users", tags: []string{"base", "base", "gray", "gray"}}},
		rules:    testers,
	})
	w := newMoves(m)
	outside, byAddress := m.outside(), through(t, m.entry, w.known.sidecar.Inbound)

	manyWhile(t, 2*len(w.layouts), func(int) { w.change() }, func(i int) error {
		user, gray := fmt.Sprint(100+i), false
		if i%2 == 1 {
			user, gray = fmt.Sprint(1+i%3), true
		}
		if i%4 > 1 {
			return w.ask(byAddress, "known", user, gray)
		}
		return w.ask(outside, "users", user, gray)
	})
}

// moves puts one layout of services after the other in force.
type moves struct {
	*mesh
	known   *pod // base of the service known, whose host is the pod's address: without the service that is an endpoint of users
	layouts [][]placement

	written, inForce atomic.Int64 // generations: the one written last, and the last that all sidecars obey
}

// newMoves has the first layout in force.
func newMoves(m *mesh) *moves {
	base, gray := m.podsOf("users", "base"), m.podsOf("users", "gray")
	a, b, g, h := base[0], base[1], gray[0], gray[1]
	front := m.placements()[0]
	users := func(places ...place) placement {
		return placement{service: "users", hosts: []string{"users"}, places: places}
	}
	known := placement{service: "known", hosts: []string{a.sidecar.Inbound}, places: []place{{"base", []*pod{a}}, {"gray", []*pod{g}}}}
	in := func(tag string, pods ...*pod) place { return place{tag, pods} }
	w := &moves{mesh: m, known: a, layouts: [][]placement{
		{front, users(in("base", a, b), in("gray", g, h)), known},
		{front, users(in("base", a, b)), known},                     // gray is gone
		{front, users(in("base", b, a), in("gray", h, g))},          // gray is back, all in another order; known is gone
		{front, users(in("base", a), in("gray", b, g, h)), known},   // b was base
		{front, users(in("base", a, b), in("gray", g, h))},          // b is base again
		{known, front, users(in("base", h, a, b), in("gray", g))},   // h was gray
		{known, users(in("gray", g, h), in("base", a, b)), front},   // h is gray again
		{front, users(in("gray"), in("base", a, b)), known},         // gray has no endpoint
		{front, users(in("base", a, b), in("gray", g)), known},      // gray has one of two
		{front, users(in("base", a), in("blue", g), in("gray", h))}, // g is of another tag
	}}
	w.put(placed(testers, w.generation(0)))
	return w
}

// generation is the layout of a generation; each comes again and again.
func (w *moves) generation(n int64) []placement { return w.layouts[n%int64(len(w.layouts))] }

// change puts the next generation in force.
func (w *moves) change() {
	w.t.Helper()
	next := w.written.Add(1)
	w.put(placed(testers, w.generation(next)))
	w.inForce.Store(next)
}

// ask sends a request to a service and looks who served it.
func (w *moves) ask(from caller, service, user string, gray bool) error {
	first := w.inForce.Load()
	answer, err := from.send("", "X-User-Id", user)
	last := w.written.Load()
	if err != nil {
		return err
	}
	served := answer.at("users").Pod
	var allowed []string
	for n := first; n <= last; n++ {
		for _, p := range w.mayServe(w.generation(n), service, gray) {
			allowed = append(allowed, p.name)
		}
	}
	if !slices.Contains(allowed, served) {
		return fmt.Errorf("user %s of %s is served by %s, want one of %v (generations %d to %d)", user, service, served, allowed, first, last)
	}
	return nil
}

// mayServe gives the pods that a policy sends a request to.
func (w *moves) mayServe(layout []placement, service string, gray bool) []*pod {
	of := slices.IndexFunc(layout, func(p placement) bool { return p.service == service })
	if of < 0 {
		return slices.Concat(w.mayServe(layout, "users", gray), []*pod{w.known}) // who owns an address counts a moment after the policy
	}
	var base []*pod
	for _, v := range layout[of].places {
		switch {
		case v.tag == "gray" && gray && len(v.pods) > 0:
			return v.pods
		case v.tag == "base":
			base = v.pods
		}
	}
	return base
}
