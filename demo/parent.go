package main

import (
	"context"
	"os"
	"time"
)

// endWithParent ends the context when the process that started the demo is gone: `go run` passes no SIGTERM on.
func endWithParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		defer cancel()
		tick := time.NewTicker(500 * time.Millisecond) // soon enough for a person who looks for leftovers
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx
}
