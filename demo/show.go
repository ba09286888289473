package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// show is what the demo does by itself: scenes that change something and look at who is served by which version.
type show struct {
	stage   stage
	out     io.Writer
	visitor visitor
}

// stage is a shop that runs, as processes or as containers.
type stage interface {
	policy(rules string) string
	write(policy string) error
	// policies is what each sidecar obeys.
	policies(ctx context.Context) ([]policyInForce, error)
	stopGrayUsers(ctx context.Context) error
	// startGrayUsers returns when its sidecar is ready.
	startGrayUsers(ctx context.Context) error
}

func newShow(s stage, v visitor, out io.Writer) *show { return &show{s, out, v} }

// scene is a change and what must come of it.
type scene struct {
	title string
	act   func(ctx context.Context) error
	gray  []int  // users who are gray after it
	users string // version of the last service that serves them, where it is not gray
}

func (s *show) run(ctx context.Context) error {
	testers, friends := []int{1, 2, 3}, []int{1, 2, 3, 10, 11, 12}
	if err := s.play(ctx, 1, scene{title: "The policy says: users 1, 2 and 3 are gray.", gray: testers}); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\nFrom here on users keep coming while things change.\n")
	crowd := startCrowd(ctx, s.visitor)
	for i, scene := range []scene{
		{"A rule is added: users 10, 11 and 12 too.", s.put(moreRules), friends, ""},
		{"The switch is turned off: nobody is gray.", s.put(switchedOff), nil, ""},
		{"The file is broken by a typing error: nothing changes.", s.putBroken, nil, ""},
		{"It is mended, with the switch on.", s.put(moreRules), friends, ""},
		{"Gray users is stopped: its requests fall back to base, and stay gray elsewhere.", s.stage.stopGrayUsers, friends, "base"},
		{"Gray users is started again.", s.startGrayUsers, friends, ""},
	} {
		if err := s.play(ctx, i+2, scene); err != nil {
			_, _, _ = crowd.end()
			return err
		}
	}
	sent, failed, first := crowd.end()
	fmt.Fprintf(s.out, "\n%d requests came meanwhile, %d failed.\n", sent, failed)
	return first
}

// play does what a scene does, shows who is served by which version, and compares that with what must be.
func (s *show) play(ctx context.Context, number int, c scene) error {
	fmt.Fprintf(s.out, "\n%d. %s\n", number, c.title)
	if c.act != nil {
		if err := c.act(ctx); err != nil {
			return err
		}
	}
	visits, err := s.visitor.everyone(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(s.out, table(visits))
	for _, v := range visits {
		if want := c.expect(v.user); !slices.Equal(v.tags, want) {
			return fmt.Errorf("user %d was served by %v, want %v", v.user, v.tags, want)
		}
	}
	return nil
}

// expect is the version that must serve a user at each hop.
func (c scene) expect(user int) []string {
	if !slices.Contains(c.gray, user) {
		return []string{"base", "base", "base"}
	}
	if c.users != "" {
		return []string{"gray", "gray", c.users}
	}
	return []string{"gray", "gray", "gray"}
}

// put is the act of writing a policy; it ends when every sidecar obeys it.
func (s *show) put(rules string) func(context.Context) error {
	return func(ctx context.Context) error {
		text := s.stage.policy(rules)
		digest := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12]
		return s.writeAndWait(ctx, text, "in force at all sidecars", func(p policyInForce) bool { return p.Digest == digest })
	}
}

func (s *show) putBroken(ctx context.Context) error {
	var faults []string
	err := s.writeAndWait(ctx, s.stage.policy(broken), "refused by all sidecars", func(p policyInForce) bool {
		faults = p.LastError.Faults
		return !p.Valid
	})
	if err != nil {
		return err
	}
	for _, fault := range faults {
		fmt.Fprintf(s.out, "  %s\n", fault)
	}
	return nil
}

// policyPatience is above the six seconds that a change takes where file events are lost.
const policyPatience = 10 * time.Second

func (s *show) writeAndWait(ctx context.Context, text, what string, holds func(policyInForce) bool) error {
	begin := time.Now()
	if err := s.stage.write(text); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, policyPatience, errors.New("the policy is not "+what))
	defer cancel()
	err := wait(ctx, func() bool {
		all, err := s.stage.policies(ctx)
		return err == nil && !slices.ContainsFunc(all, func(p policyInForce) bool { return !holds(p) })
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "  %s after %d ms\n", what, time.Since(begin).Milliseconds())
	return nil
}

// policyInForce is what a sidecar's admin port tells of its policy.
type policyInForce struct {
	Digest    string `json:"digest"`
	Valid     bool   `json:"valid"`
	LastError struct {
		Faults []string `json:"faults"` // each with its place
	} `json:"lastError"`
}

func (p *pod) policy(ctx context.Context) (policyInForce, error) {
	var in policyInForce
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address(adminPort)+"/policy", nil)
	if err != nil {
		return in, err
	}
	text, err := fetch(http.DefaultClient, r)
	if err != nil {
		return in, err
	}
	return in, json.Unmarshal([]byte(text), &in)
}

func (s *shop) policies(ctx context.Context) ([]policyInForce, error) {
	var all []policyInForce
	for _, p := range s.pods {
		in, err := p.policy(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

func (s *shop) stopGrayUsers(context.Context) error {
	s.pod("users-gray").stopPod()
	return nil
}

func (s *shop) startGrayUsers(ctx context.Context) error {
	p := s.pod("users-gray")
	if err := s.startPod(ctx, p); err != nil {
		return err
	}
	return p.waitReady(ctx)
}

func (s *show) startGrayUsers(ctx context.Context) error {
	if err := s.stage.startGrayUsers(ctx); err != nil {
		return err
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, healthPatience, errors.New("gray users is not used, though it is ready"))
	defer cancel()
	if err := wait(ctx, func() bool {
		v, err := s.visitor.visit(ctx, 1)
		return err == nil && v.tags[len(v.tags)-1] == "gray"
	}); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "  in use %d ms after it was ready, when its callers had checked its health\n", time.Since(begin).Milliseconds())
	return nil
}

// healthPatience is far above the second from one health check to the next.
const healthPatience = 10 * time.Second
