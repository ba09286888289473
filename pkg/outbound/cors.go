package outbound

import (
	"bytes"
	"strconv"
	"strings"

	"graylane/internal/metrics"
	"graylane/pkg/policy"
)

// answered does what the route says about pages of other origins (Fetch standard,
// section 3.2), and reports whether that was all: the request is a browser's
// question what it may do, or is not allowed.
func (g Gateway) answered(c *call, cors *policy.Cors) bool {
	x, head := c.X, c.Head
	// What the service itself allows is not what the policy does, and could become
	// more than it said beside what we add.
	x.DropReply("Access-Control-Allow-Origin")
	x.DropReply("Access-Control-Allow-Credentials")
	if cors.Origins != nil {
		x.AddReply("Vary", "Origin") // also where there is none: a cache must not take one reply for all
	}
	origin := head.Get("Origin")
	if origin == nil || isOwn(origin, head.Authority()) {
		return false
	}
	method := head.Method()
	asked := head.Get("Access-Control-Request-Method")
	preflight := string(method) == "OPTIONS" && asked != nil
	if preflight {
		method = asked
	}
	headers := head.Get("Access-Control-Request-Headers")
	if !cors.AllowsOrigin(origin) || !cors.AllowsMethod(method) || preflight && !cors.AllowsHeaders(headers) {
		c.Refuse(403, metrics.CORS, "the policy does not allow this to pages of that origin")
		return true
	}
	if cors.Origins == nil {
		x.SetReply("Access-Control-Allow-Origin", "*")
	} else {
		x.SetReply("Access-Control-Allow-Origin", string(origin))
	}
	if cors.Credentials {
		x.SetReply("Access-Control-Allow-Credentials", "true")
	}
	if !preflight {
		return false
	}
	if cors.Methods == nil {
		x.SetReply("Access-Control-Allow-Methods", string(method))
	} else {
		x.SetReply("Access-Control-Allow-Methods", strings.Join(cors.Methods, ", "))
	}
	if len(headers) > 0 {
		x.SetReply("Access-Control-Allow-Headers", string(headers))
	}
	if cors.MaxAge >= 0 {
		x.SetReply("Access-Control-Max-Age", strconv.Itoa(cors.MaxAge))
	}
	c.Record.Service, c.Record.Reason = c.service.Name, policy.Answered.String()
	x.Reply(200, "", "")
	return true
}

// isOwn tells whether a page is of the host that the request is for: browsers name
// the origin there too, for all methods but GET and HEAD. They leave the port out
// where it is the scheme's own.
func isOwn(origin, authority []byte) bool {
	scheme, host, ok := bytes.Cut(origin, []byte("://"))
	if !ok {
		return false
	}
	rest, ok := cutFold(authority, host)
	switch {
	case !ok:
		return false
	case bytes.EqualFold(scheme, []byte("https")):
		return len(rest) == 0 || string(rest) == ":443"
	}
	return len(rest) == 0 || string(rest) == ":80"
}

// cutFold is bytes.CutPrefix for prefixes in any case.
func cutFold(b, prefix []byte) ([]byte, bool) {
	if len(b) < len(prefix) || !bytes.EqualFold(b[:len(prefix)], prefix) {
		return nil, false
	}
	return b[len(prefix):], true
}
