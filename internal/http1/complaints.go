package http1

import (
	"log/slog"
	"sync"
	"time"
)

// Complaints logs what is wrong with the replies of one origin, which callers are not told: the
// app's people have to find it, and other clients may have taken such replies.
type Complaints struct {
	addr string
	log  *slog.Logger

	mu   sync.Mutex
	last time.Time
}

// NewComplaints is for an origin at addr.
func NewComplaints(addr string, log *slog.Logger) *Complaints {
	return &Complaints{addr: addr, log: log}
}

// seldom is how often a complaint is logged at most: every reply of an origin may be bad.
const seldom = 5 * time.Second

// BadReply logs that a reply was not valid, or that its framing cannot be trusted.
func (c *Complaints) BadReply(err error) {
	if c.due(time.Now()) {
		c.log.Warn("reply is not valid, or not to be trusted", "origin", c.addr, "error", err)
	}
}

func (c *Complaints) due(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.last) < seldom {
		return false
	}
	c.last = now
	return true
}
