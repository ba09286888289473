package policy

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told returns an explanation as lines of text.
func told(e *Explanation) string {
	var b strings.Builder
	for _, s := range e.Steps {
		b.WriteString(s.What + "\n")
		for _, d := range s.Details {
			b.WriteString("  " + d + "\n")
		}
	}
	return b.String()
}

// Each file in testdata/explain is a policy, a request below it, and what is
// said of it.
func TestExplainAsWritten(t *testing.T) {
	for _, path := range glob(t, "testdata/explain/*.txt") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			parts := strings.Split(read(t, path), "\n---\n")
			if len(parts) != 3 {
				t.Fatalf("%d parts, want policy, request and explanation", len(parts))
			}
			p, err := Parse(path, []byte(parts[0]))
			if err != nil {
				t.Fatal(err)
			}
			sample, err := ParseSample(parts[1])
			if err != nil {
				t.Fatal(err)
			}
			sample.Peer = netip.MustParseAddr("10.0.0.7")
			sample.Time = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)
			r := sample.Request()
			r.Rand = func() uint64 { return 1 << 63 }
			in := Incoming{Tag: sample.Headers["X-Gray"], From: "header"}
			if diff := cmp.Diff(parts[2], told(p.Explain(r, in))); diff != "" {
				t.Errorf("explanation (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzExplain holds that what is explained is what is decided.
func FuzzExplain(f *testing.F) {
	for _, path := range []string{"testdata/good/whole.yaml", "testdata/good/smallest.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "POST", "orders", "/orders/7", "gray=true", "7", "beta=1", "sub", "10.0.0.1", int64(1_800_000_000), uint64(1))
	}
	decide, err := filepath.Glob("testdata/decide/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for i, path := range decide {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		policy, _, _ := strings.Cut(string(text), "\n--- requests\n")
		f.Add([]byte(policy), "GET", "u", "/v1//x", "q=1", "1", "gray=1", "ann", "::ffff:10.7.1.1", int64(1_795_000_000), uint64(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, method, host, path, query, value, cookie, sub, peer string, now int64, seed uint64) {
		p, err := Parse("testdata/good/policy.yaml", text)
		if err != nil {
			return
		}
		addr, _ := netip.ParseAddr(peer)
		s := Sample{
			Time: time.Unix(now%(1<<40), 0), Method: method, Host: host, Path: path, Query: query, Peer: addr, TraceID: value,
			Headers: map[string]string{"Cookie": cookie, "A": value, "X-User-Id": value, "U": value, "Phone": value},
			Claims:  map[string]any{"sub": sub, "groups": []string{value, sub}},
		}
		agree(t, p, &s, seed)
	})
}

// agree asks for a decision and for an explanation, and wants both to say the
// same.
func agree(t *testing.T, p *Policy, s *Sample, seed uint64) {
	t.Helper()
	live, asked := s.Request(), s.Request()
	live.Rand = rand.New(rand.NewPCG(seed, 0)).Uint64
	asked.Rand = rand.New(rand.NewPCG(seed, 0)).Uint64
	tag, rule := p.Tag(live)
	want := Answer{Tag: tag, Reason: PassThrough.String()}
	if rule != nil {
		want.Rule = rule.Name
	}
	if service := p.ServiceFor(live.Host); service != nil {
		d := service.Decide(tag)
		want.Service, want.Reason, want.Version = service.Name, d.Reason.String(), tagOf(d.Version)
	}
	e := p.Explain(asked, Incoming{})
	if diff := cmp.Diff(want, e.Answer); diff != "" {
		t.Errorf("%+v: decided (-), explained (+):\n%s%s", s, diff, told(e))
	}
}

func TestExplainAgreesOnManyRequests(t *testing.T) {
	p, err := Load("testdata/good/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(0)
	for s := range Generate(p, p, 20_000) {
		seed++
		agree(t, p, s, seed)
	}
}
