package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guests are users who come to a shop that runs elsewhere, in a cluster say, and note how they were served.
type guests struct {
	visitor visitor
	gray    []int // users who may meet gray pods
	limit   int   // visits in all; 0: until the end
	pace    time.Duration

	mu    sync.Mutex
	tally tally
}

// tally is what became of the visits.
type tally struct {
	Sent   int            `json:"sent"`
	Failed int            `json:"failed"`
	Leaked int            `json:"leaked"` // visits of other users than gray ones that a gray pod served, at any hop
	Paths  map[string]int `json:"paths"`  // visits by user and tags on the way: "4 base base base"
	Faults []string       `json:"faults"` // the last that failed or leaked, with their times
}

const faultsKept = 50

// runVisit sends users until the process ends, or so many.
func runVisit(ctx context.Context, args []string) error {
	g := &guests{tally: tally{Paths: map[string]int{}}}
	var listen, gray string
	var workers int
	flags := flag.NewFlagSet("demo visit", flag.ContinueOnError)
	flags.StringVar(&g.visitor.host, "host", "", "Host of the requests; none: as the URL says")
	flags.StringVar(&gray, "gray", "1,2,3", "users who may meet gray pods; a gray pod that serves another is a leak")
	flags.IntVar(&g.limit, "count", 0, "visits to make; 0: until the end. The exit code is 1 if one failed or leaked")
	flags.IntVar(&workers, "workers", 3, "users at once")
	flags.DurationVar(&g.pace, "pace", 20*time.Millisecond, "of each worker, from one visit to the next")
	flags.StringVar(&listen, "listen", "", "address to tell at, in JSON, what became of the visits; none: at the end")
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	var err error
	if g.gray, err = numbers(gray); err != nil || flags.NArg() != 1 {
		fmt.Fprintln(flags.Output(), "want the URL of the shop, and numbers of users with commas between for --gray")
		return errUsage
	}
	// What has reached the shop is sent once only: neither the client nor a sidecar may repeat a POST.
	g.visitor.client, g.visitor.url, g.visitor.method = newClient(http.ProxyFromEnvironment), flags.Arg(0), http.MethodPost
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if listen != "" {
		go func() {
			fmt.Fprintln(os.Stderr, "demo:", http.ListenAndServe(listen, g))
			stop()
		}()
	}
	g.visit(ctx, workers)
	return g.report()
}

func numbers(list string) ([]int, error) {
	var all []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// visit returns when ctx has ended or all visits are made.
func (g *guests) visit(ctx context.Context, workers int) {
	users := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			pace := time.NewTicker(g.pace)
			defer pace.Stop()
			for user := range users {
				// A visit under way is finished, also when ctx ends.
				seen, err := g.visitor.visit(context.WithoutCancel(ctx), user)
				g.note(user, seen, err)
				<-pace.C
			}
		})
	}
	for n := 0; (g.limit == 0 || n < g.limit) && ctx.Err() == nil; n++ {
		select {
		case users <- 1 + n%usersInAll:
		case <-ctx.Done():
		}
	}
	close(users)
	wg.Wait()
}

func (g *guests) note(user int, seen visit, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &g.tally
	t.Sent++
	path := fmt.Sprint(user, " ", strings.Join(seen.tags, " "))
	switch {
	case err != nil:
		t.Failed++
		t.fault(err.Error())
		return
	case slices.ContainsFunc(seen.tags, func(tag string) bool { return tag != "base" }) && !slices.Contains(g.gray, user):
		t.Leaked++
		t.fault("leaked: user " + path)
	}
	t.Paths[path]++
}

func (t *tally) fault(what string) {
	t.Faults = append(t.Faults, time.Now().UTC().Format("15:04:05.000 ")+what)
	t.Faults = t.Faults[max(0, len(t.Faults)-faultsKept):]
}

func (g *guests) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(g.tally); err != nil {
		fmt.Fprintln(os.Stderr, "demo: tell of the visits:", err)
	}
}

// report prints the tally; failures and leaks are its error.
func (g *guests) report() error {
	if err := json.NewEncoder(os.Stdout).Encode(g.tally); err != nil {
		return err
	}
	if t := g.tally; t.Failed > 0 || t.Leaked > 0 {
		return fmt.Errorf("of %d visits %d failed and %d leaked", t.Sent, t.Failed, t.Leaked)
	}
	return nil
}
