package outbound

import (
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
	page := policy.Page{
		Origin: head.Get("Origin"), Authority: head.Authority(), Method: head.Method(),
		WantedMethod: head.Get("Access-Control-Request-Method"), WantedHeaders: head.Get("Access-Control-Request-Headers"),
	}
	permission := cors.Permit(&page)
	switch {
	case !permission.Foreign:
		return false
	case !permission.Given:
		c.Refuse(403, metrics.CORS, "the policy does not allow this to pages of that origin")
		return true
	}
	if cors.Origins == nil {
		x.SetReply("Access-Control-Allow-Origin", "*")
	} else {
		x.SetReply("Access-Control-Allow-Origin", string(page.Origin))
	}
	if cors.Credentials {
		x.SetReply("Access-Control-Allow-Credentials", "true")
	}
	if !permission.Asks {
		return false
	}
	if cors.Methods == nil {
		x.SetReply("Access-Control-Allow-Methods", string(page.WantedMethod))
	} else {
		x.SetReply("Access-Control-Allow-Methods", strings.Join(cors.Methods, ", "))
	}
	if len(page.WantedHeaders) > 0 {
		x.SetReply("Access-Control-Allow-Headers", string(page.WantedHeaders))
	}
	if cors.MaxAge >= 0 {
		x.SetReply("Access-Control-Max-Age", strconv.Itoa(cors.MaxAge))
	}
	c.Record.Reason = policy.Answered.String()
	x.Reply(200, "", "")
	return true
}
