package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const usersInAll = 12

// visitor sends users to the shop, by way of the entry.
type visitor struct {
	client *http.Client
	url    string // of the first service
	host   string // in place of the one in url; "" for that
	method string // "" for GET
}

func (v visitor) visit(ctx context.Context, user int) (visit, error) {
	r, err := http.NewRequestWithContext(ctx, v.method, v.url, nil)
	if err != nil {
		return visit{}, err
	}
	r.Host = cmp.Or(v.host, r.Host)
	r.Header.Set("X-User-Id", strconv.Itoa(user))
	answer, err := fetch(v.client, r)
	if err != nil {
		return visit{}, fmt.Errorf("user %d: %w", user, err)
	}
	return parseVisit(user, answer)
}

// everyone visits once, in order.
func (v visitor) everyone(ctx context.Context) ([]visit, error) {
	var visits []visit
	for user := 1; user <= usersInAll; user++ {
		seen, err := v.visit(ctx, user)
		if err != nil {
			return nil, err
		}
		visits = append(visits, seen)
	}
	return visits, nil
}

// crowd is the traffic that flows while the show changes things.
type crowd struct {
	wg   sync.WaitGroup
	stop context.CancelFunc

	mu     sync.Mutex
	sent   int
	failed int
	first  error // of those that failed
}

// startCrowd has a few users at once come back again and again.
func startCrowd(ctx context.Context, v visitor) *crowd {
	running, stop := context.WithCancel(ctx)
	c := &crowd{stop: stop}
	for worker := range 3 {
		c.wg.Go(func() {
			pace := time.NewTicker(10 * time.Millisecond) // leaves the machine to the rest of the demo
			defer pace.Stop()
			for user := worker; running.Err() == nil; user++ {
				_, err := v.visit(ctx, 1+user%usersInAll)
				c.count(err)
				<-pace.C
			}
		})
	}
	return c
}

func (c *crowd) count(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	if err == nil {
		return
	}
	c.failed++
	if c.first == nil {
		c.first = err
	}
}

// end lets requests under way finish and tells how all went.
func (c *crowd) end() (sent, failed int, first error) {
	c.stop()
	c.wg.Wait()
	return c.sent, c.failed, c.first
}
