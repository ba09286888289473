package policy

import (
	"bytes"
	"net/netip"
)

// Guard is what becomes of leaks: requests at a tagged pod that carry another tag.
type Guard struct {
	Action string // observe, redirect or reject

	ports map[uint16]bool // of the service; none: all
	paths []string        // that are for every pod, without a slash at the end
	peers []netip.Prefix  // whose requests are for every pod
}

// Leaks tells whether a request with the given tag leaks where it arrived: at a pod
// of s with another tag, which is not base, since a tag at a base pod is fallback;
// on a port of the service; and not among what guardExcept lets pass. A port of 0
// is not known, and counts as the service's. It does not allocate.
func (s *Service) Leaks(pod, tag string, r *Request, port uint16) bool {
	g := &s.Guard
	switch {
	case pod == "" || pod == Base || pod == tag:
		return false
	case port != 0 && len(g.ports) > 0 && !g.ports[port]:
		return false
	}
	return !g.exempts(r)
}

func (g *Guard) exempts(r *Request) bool {
	peer := r.Peer.Unmap()
	for _, net := range g.peers {
		if net.Contains(peer) {
			return true
		}
	}
	if len(g.paths) == 0 {
		return false
	}
	var scratch [256]byte
	path := normalPath(scratch[:0], r.Path)
	for _, prefix := range g.paths {
		rest, ok := bytes.CutPrefix(path, []byte(prefix))
		if ok && (len(rest) == 0 || rest[0] == '/') {
			return true
		}
	}
	return false
}
