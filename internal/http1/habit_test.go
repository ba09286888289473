package http1

import (
	"slices"
	"testing"
	"time"
)

func TestHabit(t *testing.T) {
	const ms = time.Millisecond
	type seen struct {
		open bool
		idle time.Duration
	}
	for name, tt := range map[string]struct {
		seen []seen
		want time.Duration
	}{
		"nothing is known":                       {nil, 50 * time.Second},
		"one ended":                              {[]seen{{false, 100 * ms}}, 50 * ms},
		"the shortest counts":                    {[]seen{{false, 300 * ms}, {false, 100 * ms}, {false, 200 * ms}}, 50 * ms},
		"one that ended in no time says nothing": {[]seen{{false, 19 * ms}}, 50 * time.Second},
		"younger ones that are open say nothing": {[]seen{{false, 100 * ms}, {true, 90 * ms}}, 50 * ms},
		"nor do those that are a little older":   {[]seen{{false, 100 * ms}, {true, 190 * ms}}, 50 * ms},
		"an older one that is open refutes it":   {[]seen{{false, 30 * ms}, {true, 100 * ms}}, 50 * time.Second},
		"so do many that are open":               {append([]seen{{false, 30 * ms}}, slices.Repeat([]seen{{true, 20 * ms}}, 16)...), 50 * time.Second},
		"unless some ended in between":           {append(slices.Repeat([]seen{{true, 60 * ms}}, 15), seen{false, 100 * ms}, seen{true, 60 * ms}), 50 * ms},
		"and it can be learned again":            {[]seen{{false, 30 * ms}, {true, 100 * ms}, {false, 100 * ms}}, 50 * ms},
		"never more than allowed":                {[]seen{{false, time.Hour}}, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var h habit
			for _, s := range tt.seen {
				if s.open {
					h.sawOpen(s.idle)
				} else {
					h.sawEnd(s.idle)
				}
			}
			if got := h.limit(50 * time.Second); got != tt.want {
				t.Errorf("limit is %v, want %v", got, tt.want)
			}
		})
	}
}

// The first connection that is found ended teaches the Origin; from then on it leaves first.
func TestLearnsWhenTheOriginLeaves(t *testing.T) {
	const keeps = 50 * time.Millisecond
	left := make(chan bool)
	o := NewOrigin(listen(t, func(c *peer) {
		for c.message() != "" {
			c.say("HTTP/1.1 204 No Content⏎⏎")
			_ = c.SetReadDeadline(time.Now().Add(keeps))
		}
		_ = c.Close()
		left <- true
	}), OriginConfig{})
	t.Cleanup(o.Close)
	_, addr := serve(t, Config{}, sendTo(o))
	c := dial(t, addr)
	ask := func() {
		c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 0⏎⏎")
		if got := c.head(); got != "HTTP/1.1 204 No Content⏎⏎" {
			t.Fatalf("got %q", got)
		}
	}
	ask()
	<-left
	ask()
	<-left
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := o.habit.limit(time.Minute); got < keeps/4 || got == time.Minute {
		t.Errorf("limit is %v, want a little less than what the connection was idle", got)
	}
}
