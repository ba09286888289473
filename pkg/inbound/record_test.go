package inbound_test

import (
	"log/slog"
	"strings"
	"testing"

	"graylane/pkg/inbound"
)

func TestATagThatThePolicyDoesNotNameIsCountedAsOtherAndLoggedAsItIs(t *testing.T) {
	log := make(lines, 1)
	p := newPod(t, trusting, func(in *inbound.Inbound) {
		in.Marks.Tag = "base"
		in.Metrics.AccessLog(slog.New(slog.NewTextHandler(log, nil)))
	})
	p.call(t, "X-Gray", "pr-142")
	if got := p.seen.Get("X-Gray"); got != "pr-142" {
		t.Errorf("X-Gray at the app: got %q, want pr-142", got)
	}
	if got, want := <-log, " service=users version=base tag=pr-142 source=header reason=local "; !strings.Contains(got, want) {
		t.Errorf("the access log lacks %q: %s", want, got)
	}
	want := `graylane_requests_total{class="2xx",direction="inbound",reason="local",service="users",tag="other"} 1`
	if got := p.metrics(t); !strings.Contains(got, want+"\n") || strings.Contains(got, "pr-142") {
		t.Errorf("the metrics lack %s, or have the caller's tag as a label", want)
	}
}

// lines is a log that hands on each line: the request it tells of has been counted then.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
