package policy

import (
	"strings"
	"time"
)

// serving compiles how the requests of a service are served once its version is
// known.
func (c *compiler) serving(s *Service, spec *ServiceSpec, at place) {
	if !at.has("versions") {
		for _, key := range [...]string{"balance", "health", "limit", "timeouts", "retry"} {
			if at.has(key) {
				c.add(at.key(key), "without versions: requests are sent where they were going, want versions beside it")
			}
		}
	}
	s.Balance = c.balance(spec.Balance, at.key("balance"))
	s.Health = c.health(spec.Health, at.key("health"))
	s.Limit = c.limit(spec.Limit, at.key("limit"))
	s.Timeouts = c.timeouts(spec.Timeouts, at.key("timeouts"))
	s.Retries = 2
	if spec.Retry != nil {
		const most = 7 // more is a storm
		s.Retries = c.number(spec.Retry.Attempts, 2, 0, most, at.key("retry").key("attempts"))
	}
}

func (c *compiler) balance(spec *BalanceSpec, at place) Balance {
	b := Balance{Type: "round-robin", Size: 3, by: -1}
	if spec == nil {
		return b
	}
	if at.has("type") {
		b.Type = spec.Type
	}
	const most = 1000 // in a row are a balance no more
	b.Size = c.number(spec.Size, 3, 1, most, at.key("size"))
	if at.has("size") && b.Type != "burst" {
		c.add(at.key("size"), "beside type %s, want it beside burst", b.Type)
	}
	switch {
	case b.Type == "hash" && spec.By == nil:
		c.add(at, "hash without by, want the key to balance by")
	case b.Type != "hash" && spec.By != nil:
		c.add(at.key("by"), "beside type %s, want it beside hash", b.Type)
	case spec.By != nil:
		b.by = c.by(spec.By, at.key("by"))
	}
	if spec.ZoneFirst != nil {
		b.NearShare = 0.5
		if spec.ZoneFirst.Share != nil {
			b.NearShare = float64(*spec.ZoneFirst.Share)
		}
		if b.NearShare == 0 {
			c.add(at.key("zoneFirst").key("share"), "0, want more than 0: leave zoneFirst out where zones do not matter")
		}
	}
	return b
}

func (c *compiler) health(spec *HealthSpec, at place) *Health {
	if spec == nil {
		return nil
	}
	h := &Health{Type: spec.Type, Path: spec.Path, Expect: spec.Expect, Service: spec.Service}
	if !at.has("type") {
		h.Type = "http"
	}
	for _, only := range [...]struct{ key, kind string }{{"path", "http"}, {"expect", "http"}, {"service", "grpc"}} {
		if at.has(only.key) && h.Type != only.kind {
			c.add(at.key(only.key), "beside type %s, want it beside %s", h.Type, only.kind)
		}
	}
	if !at.has("path") {
		h.Path = "/health"
	} else if !isPath(h.Path) {
		c.add(at.key("path"), "%s, want a path such as /health: visible characters, / first", quote(h.Path))
	}
	if !at.has("expect") {
		h.Expect = []int{200}
	}
	for i, status := range h.Expect {
		if status < 200 || status > 599 {
			c.add(at.key("expect").item(i), "%d, want a status from 200 to 599", status)
		}
	}
	if len(h.Expect) == 0 {
		c.add(at.key("expect"), "an empty list, want a status")
	}
	if at.has("service") && !isFieldValue(h.Service) {
		c.add(at.key("service"), "%s, want the name of a gRPC service", quote(h.Service))
	}
	h.Interval = c.duration(spec.Interval, 10*time.Second, 10*time.Millisecond, time.Hour, at.key("interval"))
	h.Timeout = c.duration(spec.Timeout, min(time.Second, h.Interval), time.Millisecond, h.Interval, at.key("timeout"))
	const most = 100 // in a row take too long to be of use
	h.HealthyAfter = c.number(spec.HealthyAfter, 2, 1, most, at.key("healthyAfter"))
	h.UnhealthyAfter = c.number(spec.UnhealthyAfter, 3, 1, most, at.key("unhealthyAfter"))
	return h
}

func (c *compiler) limit(spec *LimitSpec, at place) Limit {
	if spec == nil {
		spec = &LimitSpec{}
	}
	const most = 1_000_000 // is more than a pod can hold
	return Limit{
		Requests: c.number(spec.Requests, 0, 0, most, at.key("requests")),
		Wait:     c.duration(spec.Wait, 100*time.Millisecond, 0, time.Minute, at.key("wait")),
	}
}

func (c *compiler) timeouts(spec *TimeoutsSpec, at place) Timeouts {
	if spec == nil {
		spec = &TimeoutsSpec{}
	}
	const longest = 24 * time.Hour
	t := Timeouts{
		Connect: c.duration(spec.Connect, time.Second, time.Millisecond, longest, at.key("connect")),
		Header:  c.duration(spec.Header, time.Minute, 0, longest, at.key("header")),
		Idle:    c.duration(spec.Idle, 5*time.Minute, 0, longest, at.key("idle")),
	}
	for _, d := range [...]*time.Duration{&t.Header, &t.Idle} {
		if *d == 0 {
			*d = -1
		}
	}
	return t
}

// number returns what is written, or else the default, and checks its range.
func (c *compiler) number(written *int, otherwise, least, most int, at place) int {
	if written == nil {
		return otherwise
	}
	if *written < least || *written > most {
		c.add(at, "%d, want %d to %d", *written, least, most)
		return otherwise
	}
	return *written
}

func (c *compiler) duration(written *Duration, otherwise, least, most time.Duration, at place) time.Duration {
	if written == nil {
		return otherwise
	}
	if d := time.Duration(*written); d < least || d > most {
		c.add(at, "%v, want %v to %v", d, least, most)
		return otherwise
	}
	return time.Duration(*written)
}

// isPath tells whether s can stand in the head of a request as the path, with or
// without a query.
func isPath(s string) bool {
	return strings.HasPrefix(s, "/") && len(s) <= maxValue && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '#'
	})
}
