package peers

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/propagators/b3"
	"go.opentelemetry.io/contrib/propagators/jaeger"
	"go.opentelemetry.io/otel/propagation"

	"graylane/pkg/propagate"
)

const rounds = 50_000

// hex is n random digits, now and then zeros.
func hex(r *rand.Rand, n int) string {
	if r.IntN(20) == 0 {
		return strings.Repeat("0", n)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// spoil changes s in a few places, mostly in none.
func spoil(r *rand.Rand, s string) string {
	for r.IntN(3) == 0 && s != "" {
		i := r.IntN(len(s))
		switch r.IntN(4) {
		case 0:
			s = s[:i] + s[i+1:]
		case 1:
			s = s[:i] + pick(r, "0", "f", "g", "F", "-", ":", ".", ",") + s[i:]
		case 2:
			s = s[:i] + pick(r, "0", "a", "G", "A", "-", ":") + s[i+1:]
		case 3:
			s = s[:i]
		}
	}
	return s
}

func hasUpper(s string) bool { return s != strings.ToLower(s) }

func TestTraceHeadersAreReadAsOpenTelemetryReadsThem(t *testing.T) {
	tests := []struct {
		name string
		peer propagation.TextMapPropagator
		make func(r *rand.Rand, h http.Header)
		// lenient says where we read an id and they need not, stricter where they do and we need not.
		lenient, stricter func(h http.Header) bool
	}{
		{
			name: "traceparent",
			peer: propagation.TraceContext{},
			make: func(r *rand.Rand, h http.Header) {
				v := pick(r, "00", "00", "00", "01", "cc", "ff") + "-" + hex(r, 32) + "-" + hex(r, 16) + "-" + pick(r, "00", "01", "02", "03", hex(r, 2))
				h.Set("traceparent", spoil(r, v+pick(r, "", "", "", "-", "-what", ".what")))
			},
			// They refuse flags that version 00 reserves; W3C wants them ignored (section 3.2.2.5).
			lenient: func(h http.Header) bool {
				v := h.Get("traceparent")
				return strings.HasPrefix(v, "00-") && v[53:] > "03"
			},
			// Version 00 ends with the flags, without another dash.
			stricter: func(h http.Header) bool { return strings.HasSuffix(h.Get("traceparent"), "-") },
		},
		{
			name: "b3",
			peer: b3.New(),
			make: func(r *rand.Rand, h http.Header) {
				v := hex(r, 16*(1+r.IntN(2)))
				v += pick(r, "", "-"+hex(r, 16), "-"+hex(r, 16)+"-"+pick(r, "0", "1", "d", "2"))
				v += pick(r, "", "", "-"+hex(r, 16))
				h.Set("b3", spoil(r, v))
			},
			lenient: func(h http.Header) bool { return hasUpper(h.Get("b3")) },
			// They do not look at what separates the fields behind the span.
			stricter: func(h http.Header) bool {
				_, rest, _ := strings.Cut(h.Get("b3"), "-")
				return len(rest) > 16 && rest[16] != '-' || len(rest) > 18 && rest[18] != '-'
			},
		},
		{
			name: "X-B3-TraceId",
			peer: b3.New(b3.WithInjectEncoding(b3.B3MultipleHeader)),
			make: func(r *rand.Rand, h http.Header) {
				h.Set("X-B3-TraceId", spoil(r, hex(r, 16*(1+r.IntN(2)))))
				h.Set("X-B3-SpanId", spoil(r, hex(r, 16)))
				h.Set("X-B3-Sampled", pick(r, "0", "1", "true", "false"))
			},
			// The trace id is enough for us; they want a span too.
			stricter: func(http.Header) bool { return false },
			lenient: func(h http.Header) bool {
				span := h.Get("X-B3-SpanId")
				return hasUpper(h.Get("X-B3-TraceId")) || len(span) != 16 || strings.Trim(span, "0123456789abcdef") != "" || strings.Trim(span, "0") == ""
			},
		},
		{
			name: "uber-trace-id",
			peer: jaeger.Jaeger{},
			make: func(r *rand.Rand, h http.Header) {
				v := hex(r, 1+r.IntN(33)) + ":" + hex(r, 1+r.IntN(17)) + ":" + pick(r, "0", "", hex(r, 16)) + ":" + pick(r, "0", "1", "3", "", "x")
				h.Set("uber-trace-id", spoil(r, v))
			},
			// A negative number is no set of flags.
			stricter: func(h http.Header) bool { return strings.Contains(h.Get("uber-trace-id"), ":-") },
			// The span may be nothing for us.
			lenient: func(h http.Header) bool {
				span := strings.Split(h.Get("uber-trace-id"), ":")[1]
				return hasUpper(h.Get("uber-trace-id")) || strings.Trim(span, "0") == ""
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			c := carrier(t, propagate.Config{})
			read := 0
			for range rounds {
				h := http.Header{}
				tt.make(r, h)
				span := theirs(tt.peer, head(h))
				got, want := ours(c, head(h)), ""
				if span.IsValid() {
					want = span.TraceID().String()
					read++
				}
				switch {
				case got == want:
				case want == "" && tt.lenient(h):
				case got == "" && tt.stricter(h):
				default:
					t.Fatalf("%v: got %q, want %q", h, got, want)
				}
			}
			if read < rounds/10 {
				t.Errorf("only %d of %d were valid", read, rounds)
			}
		})
	}
}

func TestMadeIDsAreReadByOpenTelemetry(t *testing.T) {
	peers := map[string]propagation.TextMapPropagator{
		"traceparent":   propagation.TraceContext{},
		"b3":            b3.New(),
		"X-B3-TraceId":  b3.New(b3.WithInjectEncoding(b3.B3MultipleHeader)),
		"uber-trace-id": jaeger.Jaeger{},
	}
	for _, unsampled := range []bool{false, true} {
		for came, peer := range peers {
			for made, other := range peers {
				if came == made {
					continue
				}
				first := carrier(t, propagate.Config{Make: []string{came}, Unsampled: unsampled})
				second := carrier(t, propagate.Config{Make: []string{made}, Unsampled: !unsampled})
				h, ids := head{}, new(propagate.IDs)
				first.IDs(h, ids)
				first.Make(h, ids)
				want := theirs(peer, h)
				if !want.IsValid() || want.IsSampled() == unsampled {
					t.Errorf("%s: they read %v", came, want)
				}
				second.IDs(h, ids)
				second.Make(h, ids)
				h.Del(came)
				got := theirs(other, h)
				if got.TraceID() != want.TraceID() || got.SpanID() != want.SpanID() || got.IsSampled() != want.IsSampled() {
					t.Errorf("%s made beside %s: they read %v, want %v", made, came, got, want)
				}
			}
		}
	}
}
