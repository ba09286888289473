package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"graylane/internal/mark"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// question is what explain is asked.
type question struct {
	policy  string
	request string
	curl    string
	peer    string
	at      string
	service string
	edge    bool
	fromTag string
	gateway bool
	output  string
}

func explainCmd() *cobra.Command {
	var q question
	cmd := &cobra.Command{
		Use:   "explain --policy FILE",
		Short: "Say why a request would be routed as it is",
		Long: `Explain tells step by step what a sidecar makes of a request: which tag came with
it and whether it is believed, each rule with why it takes the request or not, the
share's bucket, the version, the fallback. It sends nothing, and it runs the code
that decides live requests.

It is asked as the sidecar of a pod that gets the request. With --from-tag it is the
sidecar of the app that makes the call: the app is believed, and a call that says no
tag has that of its pod. With --gateway the routes say by the path whom the request
is for.

The request is given by --request, by --curl (as a browser copies it), or as raw
HTTP on standard input. Trace ids that it lacks are made, as for a live one. Explain
asks no running sidecar: endpoints that are found by name count as there and healthy,
and no trace is remembered.`,
		Example: `  sidecar explain --policy policy.yaml --request 'GET http://users/v1 X-User-Id: 7'
  sidecar explain --policy policy.yaml --curl "curl 'http://users/v1' -H 'Cookie: gray=1'"
  sidecar explain --policy policy.yaml --peer 203.0.113.9 --at 2026-12-01T11:00:00Z < request.http
  sidecar explain --policy policy.yaml --from-tag gray --request 'http://users/v1'
  sidecar explain --policy policy.yaml --gateway --request 'GET http://shop.example/users/7'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return q.answer(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.policy, "policy", "", "policy `file` (required)")
	flags.StringVar(&q.request, "request", "", "`request` on one line: method, URL, headers (default standard input)")
	flags.StringVar(&q.curl, "curl", "", "request as a curl `command` line (default none)")
	flags.StringVar(&q.peer, "peer", "127.0.0.1", "`address` of the caller")
	flags.StringVar(&q.at, "at", "", "`time` of the request, in RFC 3339 form (default now)")
	flags.StringVar(&q.service, "service", "", "`name` of the service whose pod gets the request (default none)")
	flags.BoolVar(&q.edge, "edge", false, "that pod believes no caller's tag")
	flags.StringVar(&q.fromTag, "from-tag", "", "`tag` of the pod whose app makes the call; base is one (default none: the request comes to a pod)")
	flags.BoolVar(&q.gateway, "gateway", false, "the request comes to the gateway, which sends it by its path")
	flags.StringVar(&q.output, "output", "text", "`format` to print: text or json")
	return cmd
}

func (q *question) answer(in io.Reader, out io.Writer) error {
	show, err := outputNamed(q.output, showExplanation)
	if err != nil {
		return err
	}
	if faults := q.faults(); len(faults) > 0 {
		return faults
	}
	sample, err := q.sample(in)
	if err != nil {
		return usageError{err.Error()}
	}
	p, err := policy.Load(q.policy)
	if err != nil {
		return err
	}
	explanation, err := q.explain(p, sample)
	if err != nil {
		return err
	}
	return show(out, explanation)
}

// faults finds what is missing, and flags that do not go together.
func (q *question) faults() usageError {
	var faults usageError
	if q.policy == "" {
		faults = append(faults, "policy: not set, want the policy file")
	}
	if q.fromTag != "" && !policy.ValidTag(q.fromTag) {
		faults = append(faults, fmt.Sprintf("from-tag: got %q, want a tag such as gray, or base", q.fromTag))
	}
	if q.fromTag != "" && q.gateway {
		faults = append(faults, "from-tag and gateway: both set, want one: the caller is an app, or somebody outside")
	}
	if (q.service != "" || q.edge) && q.side() != policy.AtInbound {
		faults = append(faults, "service, edge: set beside from-tag or gateway, want neither: they are of the pod that gets the request")
	}
	return faults
}

// explain asks p about the request, in the order in which a sidecar does.
func (q *question) explain(p *policy.Policy, sample *policy.Sample) (*policy.Explanation, error) {
	carrier, err := propagate.New(propagate.Config{})
	if err != nil {
		return nil, err
	}
	asked := policy.Incoming{Side: q.side(), Service: q.service, Edge: q.edge, Pod: q.fromTag}
	if sample.Headers == nil {
		sample.Headers = make(map[string]string)
	}
	head, wire := head(sample.Headers), mark.Wire(p)
	if tag, source, ok := carrier.Read(head, &wire, p.Intern); ok {
		asked.Tag, asked.From = tag, source.String()
	}
	made := makeIDs(carrier, head, sample)
	e := p.Explain(sample.Request(), asked)
	if len(made) > 0 && e.Tag != "" { // what is not marked gets no ids either
		step := &policy.Step{What: "the trace ids that it lacks are made: " + strings.Join(made, ", ")}
		e.Steps = slices.Insert(e.Steps, 0, step)
	}
	return e, nil
}

// makeIDs gives the sample its trace id, and ids where it has none or bad ones: it
// returns the names of these headers.
func makeIDs(carrier *propagate.Carrier, head head, sample *policy.Sample) []string {
	before := maps.Clone(head)
	var ids propagate.IDs
	carrier.IDs(head, &ids)
	carrier.Make(head, &ids)
	sample.TraceID = string(ids.Trace())
	var made []string
	for name, value := range head {
		if before[name] != value {
			made = append(made, name)
		}
	}
	slices.Sort(made)
	return made
}

func (q *question) side() policy.Side {
	switch {
	case q.gateway:
		return policy.AtGateway
	case q.fromTag != "":
		return policy.AtOutbound
	}
	return policy.AtInbound
}

// sample reads the request.
func (q *question) sample(in io.Reader) (*policy.Sample, error) {
	peer, err := netip.ParseAddr(q.peer)
	if err != nil {
		return nil, fmt.Errorf("peer: got %q, want an address such as 10.0.0.7", q.peer)
	}
	now := time.Now()
	if q.at != "" {
		if now, err = time.Parse(time.RFC3339, q.at); err != nil {
			return nil, fmt.Errorf("at: got %q, want a time such as 2026-12-01T10:00:00Z", q.at)
		}
	}
	s, err := q.parse(in)
	if err != nil {
		return nil, err
	}
	s.Peer, s.Time = peer, now
	return s, nil
}

func (q *question) parse(in io.Reader) (*policy.Sample, error) {
	const maxRequest = 1 << 20 // sixteen times the largest head that we relay
	switch {
	case q.request != "" && q.curl != "":
		return nil, fmt.Errorf("request and curl: both set, want one")
	case q.request != "":
		return policy.ParseSample(q.request)
	case q.curl != "":
		return policy.ParseCurl(q.curl)
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxRequest))
	if err != nil {
		return nil, fmt.Errorf("read the request from standard input: %w", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, errors.New("no request, want --request, --curl, or raw HTTP on standard input")
	}
	return policy.ParseHTTP(string(raw))
}

func showExplanation(out io.Writer, e *policy.Explanation) error {
	for i, s := range e.Steps {
		fmt.Fprintf(out, "%2d. %s\n", i+1, s.What)
		for _, d := range s.Details {
			fmt.Fprintf(out, "      %s\n", d)
		}
	}
	fmt.Fprintf(out, "\n%s\n", e.Answer)
	return nil
}
