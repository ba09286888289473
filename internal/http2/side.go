package http2

import (
	"net/http"

	"graylane/internal/http1"
)

// side is where a request came in: a Server, or a bridge. On replies a sidecar tells the
// one before it, and nobody before that, what became of a request that its app did not
// answer, and that it is leaving.
type side interface {
	// tell puts on the head of a reply what http1.Fate says, or http1.Leaving.
	tell(h http.Header, what string)
	// leaves tells whether the reply comes from who is leaving.
	leaves(x *Exchange) bool
}

// HTTP/1 has options of Connection for this, of the same names.
const (
	unsentHeader     = "Graylane-Unsent"
	unansweredHeader = "Graylane-Unanswered"
	leavingHeader    = "Graylane-Leaving"
)

func (s *Server) tell(h http.Header, what string) {
	if s.cfg.Sidecars {
		h.Set(what, "1")
	}
}

func (s *Server) leaves(*Exchange) bool { return s.draining.Load() }

// hear takes off a reply what a sidecar at the origin may have said, and believes it
// if there is one: an app could say it too. The error is that the app there did not
// answer.
func (x *Exchange) hear(o *Origin, reply *http.Response) *http1.Error {
	said := func(name string) bool {
		_, ok := reply.Header[name]
		delete(reply.Header, name)
		return ok && o.cfg.Sidecar
	}
	unsent, unanswered := said(unsentHeader), said(unansweredHeader)
	x.leaving = said(leavingHeader)
	if !unsent && !unanswered {
		return nil
	}
	e := http1.Unanswered(o.addr, !unsent)
	e.Retryable, e.Repeatable = unsent, !unsent
	return e
}
