package peers

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"graylane/pkg/propagate"
)

// head is a request's head, for both sides.
type head http.Header

func (h head) Get(name string) []byte {
	if v := http.Header(h).Values(name); len(v) > 0 {
		return []byte(v[0])
	}
	return nil
}

func (h head) Values(dst [][]byte, name string) [][]byte {
	for _, v := range http.Header(h).Values(name) {
		dst = append(dst, []byte(v))
	}
	return dst
}

func (h head) Set(name string, value []byte) { http.Header(h).Set(name, string(value)) }

func (h head) Del(name string) { http.Header(h).Del(name) }

func (h head) DelAlike(name string) {
	for n := range h {
		if strings.EqualFold(strings.ReplaceAll(n, "_", "-"), name) {
			delete(h, n)
		}
	}
}

// theirs is the span that a propagator of OpenTelemetry reads from h.
func theirs(p propagation.TextMapPropagator, h head) trace.SpanContext {
	ctx := p.Extract(context.Background(), propagation.HeaderCarrier(h))
	return trace.SpanContextFromContext(ctx)
}

// ours is the trace id that we read from h, in 32 digits.
func ours(c *propagate.Carrier, h head) string {
	ids := new(propagate.IDs)
	c.IDs(h, ids)
	id := string(ids.Trace())
	if id == "" {
		return ""
	}
	return strings.Repeat("0", 32-len(id)) + id
}

func carrier(t *testing.T, cfg propagate.Config) *propagate.Carrier {
	t.Helper()
	c, err := propagate.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
