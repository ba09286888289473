package main

import (
	"fmt"
	"io"
	"net/netip"
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

The request is given by --request, by --curl (as a browser copies it), or as raw
HTTP on standard input.`,
		Example: `  sidecar explain --policy policy.yaml --request 'GET http://users/v1 X-User-Id: 7'
  sidecar explain --policy policy.yaml --curl "curl 'http://users/v1' -H 'Cookie: gray=1'"
  sidecar explain --policy policy.yaml --peer 203.0.113.9 --at 2026-12-01T11:00:00Z < request.http`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return q.answer(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.policy, "policy", "", "the policy file (required)")
	flags.StringVar(&q.request, "request", "", "the request on one line: method, URL, headers")
	flags.StringVar(&q.curl, "curl", "", "the request as a curl command line")
	flags.StringVar(&q.peer, "peer", "127.0.0.1", "address of the caller")
	flags.StringVar(&q.at, "at", "", "when, in RFC 3339 form (default now)")
	flags.StringVar(&q.service, "service", "", "service of the pod that gets the request")
	flags.BoolVar(&q.edge, "edge", false, "that pod believes no caller's tag")
	flags.StringVar(&q.output, "output", "text", "text or json")
	return cmd
}

func (q *question) answer(in io.Reader, out io.Writer) error {
	show, err := outputNamed(q.output, showExplanation)
	if err != nil {
		return err
	}
	if q.policy == "" {
		return usageError{"policy: not set, want the policy file"}
	}
	sample, err := q.sample(in)
	if err != nil {
		return usageError{err.Error()}
	}
	p, err := policy.Load(q.policy)
	if err != nil {
		return err
	}
	carrier, err := propagate.New(propagate.Config{})
	if err != nil {
		return err
	}
	head := head(sample.Headers)
	r := sample.Request()
	var ids propagate.IDs
	carrier.IDs(head, &ids)
	r.TraceID = ids.Trace()
	incoming := policy.Incoming{Service: q.service, Edge: q.edge}
	wire := mark.Wire(p)
	if tag, source, ok := carrier.Read(head, &wire, p.Intern); ok {
		incoming.Tag, incoming.From = tag, source.String()
	}
	return show(out, p.Explain(r, incoming))
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
