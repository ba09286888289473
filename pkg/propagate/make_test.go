package propagate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMake(t *testing.T) {
	const (
		ones   = "1111111111111111"
		twos   = "2222222222222222"
		threes = "3333333333333333"
		newID  = ones + twos
		uuid   = "X-Request-Id: 44444444-4444-4444-9555-555555555555\n" // fours and fives
		b3Only = "b3: " + hexA + "-b7ad6b7169203331-1\n"
	)
	all := KnownTraceHeaders()
	tests := []struct {
		name  string
		cfg   Config
		head  string
		want  string
		trace string
	}{
		{"makes both where nothing came", Config{}, "",
			"traceparent: 00-" + newID + "-" + threes + "-01\n" + uuid, newID},
		{"makes them unsampled when told so", Config{Unsampled: true}, "",
			"traceparent: 00-" + newID + "-" + threes + "-00\n" + uuid, newID},
		{"leaves both where they came", Config{}, traceparentA + "x-request-ID: abc\n",
			traceparentA + "x-request-ID: abc\n", hexA},
		{"leaves the flags as they came", Config{}, "traceparent: 00-" + hexA + "-b7ad6b7169203331-02\nX-Request-Id: r\ntracestate: a=1\n",
			"traceparent: 00-" + hexA + "-b7ad6b7169203331-02\nX-Request-Id: r\ntracestate: a=1\n", hexA},
		{"leaves unknown flags and versions", Config{}, "traceparent: cc-" + hexA + "-b7ad6b7169203331-f3-more\nX-Request-Id: r\n",
			"traceparent: cc-" + hexA + "-b7ad6b7169203331-f3-more\nX-Request-Id: r\n", hexA},
		{"replaces an invalid traceparent and drops the tracestate", Config{}, upperA + "tracestate: a=1\nX-Request-Id: r\n",
			"traceparent: 00-" + newID + "-" + threes + "-01\nX-Request-Id: r\n", newID},
		{"replaces two traceparents", Config{}, traceparentA + traceparentA + "tracestate: a=1\ntracestate: b=1\nX-Request-Id: r\n",
			"traceparent: 00-" + newID + "-" + threes + "-01\nX-Request-Id: r\n", newID},
		{"replaces an invalid traceparent that is not to be made", Config{Make: []string{"x-request-id"}}, upperA + "X-Request-Id: r\n",
			"traceparent: 00-" + newID + "-" + threes + "-01\nX-Request-Id: r\n", newID},
		{"drops a tracestate that has no traceparent", Config{}, "tracestate: a=1\nX-Request-Id: r\n",
			"X-Request-Id: r\ntraceparent: 00-" + newID + "-" + threes + "-01\n", newID},

		{"goes on with a b3", Config{}, b3Only + "X-Request-Id: r\n",
			b3Only + "X-Request-Id: r\ntraceparent: 00-" + hexA + "-b7ad6b7169203331-01\n", hexA},
		{"goes on with a b3 beside an invalid traceparent", Config{}, upperA + b3Only + "X-Request-Id: r\n",
			"traceparent: 00-" + hexA + "-b7ad6b7169203331-01\n" + b3Only + "X-Request-Id: r\n", hexA},
		{"is unsampled beside an unsampled b3", Config{}, "b3: " + hexA + "-b7ad6b7169203331-0\nX-Request-Id: r\n",
			"b3: " + hexA + "-b7ad6b7169203331-0\nX-Request-Id: r\ntraceparent: 00-" + hexA + "-b7ad6b7169203331-00\n", hexA},
		{"is unsampled beside b3: 0", Config{}, "b3: 0\nX-Request-Id: r\n",
			"b3: 0\nX-Request-Id: r\ntraceparent: 00-" + newID + "-" + threes + "-00\n", newID},
		{"is unsampled beside X-B3-Sampled: 0", Config{}, "X-B3-Sampled: 0\nX-Request-Id: r\n",
			"X-B3-Sampled: 0\nX-Request-Id: r\ntraceparent: 00-" + newID + "-" + threes + "-00\n", newID},
		{"is sampled beside a sampled b3, whatever the setting", Config{Unsampled: true}, b3Only + "X-Request-Id: r\n",
			b3Only + "X-Request-Id: r\ntraceparent: 00-" + hexA + "-b7ad6b7169203331-01\n", hexA},
		{"pads an id of 64 bits", Config{}, "X-B3-TraceId: 8448eb211c80319c\nX-Request-Id: r\n",
			"X-B3-TraceId: 8448eb211c80319c\nX-Request-Id: r\ntraceparent: 00-00000000000000008448eb211c80319c-" + ones + "-01\n", "8448eb211c80319c"},
		{"makes a new id beside a sw8 that is no number", Config{}, "sw8: " + sw8("a.b.c") + "\nX-Request-Id: r\n",
			"sw8: " + sw8("a.b.c") + "\nX-Request-Id: r\ntraceparent: 00-" + newID + "-" + threes + "-01\n", newID},

		{"makes what is listed alone", Config{Make: []string{"b3"}}, "Host: a\n",
			"Host: a\nb3: " + newID + "-" + threes + "-1\n", newID},
		{"makes what is listed and the usual", Config{Make: []string{"b3", "auto"}}, "",
			"traceparent: 00-" + newID + "-" + threes + "-01\nb3: " + newID + "-" + threes + "-1\n" + uuid, newID},
		{"makes every format", Config{Make: all}, "",
			"traceparent: 00-" + newID + "-" + threes + "-01\n" +
				"b3: " + newID + "-" + threes + "-1\n" +
				"X-B3-SpanId: " + threes + "\nX-B3-Sampled: 1\nX-B3-TraceId: " + newID + "\n" +
				uuid +
				"uber-trace-id: " + newID + ":" + threes + ":0:1\n" +
				"sw8: 1-MTExMTExMTExMTExMTExMTIyMjIyMjIyMjIyMjIyMjI=-MzMzMzMzMzMzMzMzMzMzMw==-0-Z3JheWxhbmU=-Z3JheWxhbmU=-Z3JheWxhbmU=-Z3JheWxhbmU=\n" +
				"x-datadog-parent-id: 3689348814741910323\nx-datadog-sampling-priority: 1\nx-datadog-tags: _dd.p.tid=1111111111111111\nx-datadog-trace-id: 2459565876494606882\n" +
				"X-Amzn-Trace-Id: Root=1-11111111-111111112222222222222222;Parent=3333333333333333;Sampled=1\n", newID},
		{"makes every format as a traceparent says", Config{Make: all}, "X-Request-Id: r\ntraceparent: 00-00000000000000008448eb211c80319c-b7ad6b7169203331-00\ntracestate: a=1\n",
			"X-Request-Id: r\ntraceparent: 00-00000000000000008448eb211c80319c-b7ad6b7169203331-00\ntracestate: a=1\n" +
				"b3: 8448eb211c80319c-b7ad6b7169203331-0\n" +
				"X-B3-SpanId: b7ad6b7169203331\nX-B3-Sampled: 0\nX-B3-TraceId: 8448eb211c80319c\n" +
				"uber-trace-id: 8448eb211c80319c:b7ad6b7169203331:0:0\n" +
				"sw8: 0-MDAwMDAwMDAwMDAwMDAwMDg0NDhlYjIxMWM4MDMxOWM=-YjdhZDZiNzE2OTIwMzMzMQ==-0-Z3JheWxhbmU=-Z3JheWxhbmU=-Z3JheWxhbmU=-Z3JheWxhbmU=\n" +
				"x-datadog-parent-id: 13235353014750950193\nx-datadog-sampling-priority: 0\nx-datadog-trace-id: 9532127138774266268\n" +
				"X-Amzn-Trace-Id: Root=1-00000000-000000008448eb211c80319c;Parent=b7ad6b7169203331;Sampled=0\n", "8448eb211c80319c"},
		{"makes no x-datadog-trace-id for a lower half of zero", Config{Make: []string{"x-datadog-trace-id"}}, "X-B3-TraceId: 11111111111111110000000000000000\n",
			"X-B3-TraceId: 11111111111111110000000000000000\n", "11111111111111110000000000000000"},
		{"leaves an invalid id of a format that is not to be made", Config{}, "b3: nonsense\n" + traceparentA + "X-Request-Id: r\n",
			"b3: nonsense\n" + traceparentA + "X-Request-Id: r\n", hexA},
		{"replaces an invalid id of a format that is to be made", Config{Make: []string{"b3"}}, "b3: nonsense\n" + traceparentA,
			"b3: " + hexA + "-b7ad6b7169203331-1\n" + traceparentA, hexA},
		{"keeps what b3: 0 says when it adds the id", Config{Make: []string{"b3"}}, "b3: 0\n",
			"b3: " + newID + "-" + threes + "-0\n", newID},
		{"keeps debug of X-B3", Config{Make: []string{"X-B3-TraceId"}}, "X-B3-Flags: 1\n" + traceparentA,
			"X-B3-Flags: 1\n" + traceparentA + "X-B3-SpanId: b7ad6b7169203331\nX-B3-TraceId: " + hexA + "\n", hexA},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Rand = counter()
			c := carrier(t, tt.cfg)
			h, ids := parse(tt.head), new(IDs)
			c.IDs(h, ids)
			c.Make(h, ids)
			if diff := cmp.Diff(h.String(), tt.want); diff != "" {
				t.Errorf("got -, want +\n%s", diff)
			}
			if got := string(ids.Trace()); got != tt.trace {
				t.Errorf("trace: got %q, want %q", got, tt.trace)
			}
			// What was made reads back as the same ids, and is a set that needs nothing more.
			again := new(IDs)
			c.IDs(h, again)
			if !sameKeys(ids, again) {
				t.Errorf("keys: got %v, want %v", ids.keys[:ids.n], again.keys[:again.n])
			}
			was := h.String()
			c.Make(h, again)
			if got := h.String(); got != was {
				t.Errorf("the next hop changes it to %q", got)
			}
		})
	}
}

func sameKeys(a, b *IDs) bool {
	has := func(ids *IDs, k key) bool {
		for _, o := range ids.keys[:ids.n] {
			if o == k {
				return true
			}
		}
		return false
	}
	for _, k := range a.keys[:a.n] {
		if !has(b, k) {
			return false
		}
	}
	return a.n == b.n
}

func TestMadeIDsAreNeverZero(t *testing.T) {
	n := 0
	c := carrier(t, Config{Make: KnownTraceHeaders(), Rand: func() uint64 {
		n++
		return uint64(n % 3 / 2) // 0, 1, 0, 0, 1, ...
	}})
	h, ids := parse(""), new(IDs)
	c.IDs(h, ids)
	c.Make(h, ids)
	if got, want := string(h.Get("traceparent")), "00-00000000000000010000000000000001-0000000000000001-01"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMadeIDsDiffer(t *testing.T) {
	c := carrier(t, Config{})
	seen := map[string]bool{}
	for range 1000 {
		h, ids := parse(""), new(IDs)
		c.IDs(h, ids)
		c.Make(h, ids)
		for _, name := range []string{"traceparent", "X-Request-Id"} {
			v := string(h.Get(name))
			if seen[v] {
				t.Fatalf("%s: %s came twice", name, v)
			}
			seen[v] = true
		}
	}
}

func TestMakeLearnsWhatTheAppSpeaks(t *testing.T) {
	c := carrier(t, Config{Rand: counter()})
	made := func(head string) *head {
		h, ids := parse(head), new(IDs)
		c.IDs(h, ids)
		c.Make(h, ids)
		return h
	}
	if got := made("").Get("b3"); got != nil {
		t.Errorf("b3 before it was learned: got %q", got)
	}
	ids := idsOf(c, "b3: "+hexA+"-b7ad6b7169203331-1\nuber-trace-id: nonsense\n")
	c.Learn(ids)
	h := made(traceparentA)
	if got, want := string(h.Get("b3")), hexA+"-b7ad6b7169203331-1"; got != want {
		t.Errorf("b3: got %q, want %q", got, want)
	}
	if got := h.Get("uber-trace-id"); got != nil {
		t.Errorf("nonsense was learned: got %q", got)
	}
}

func TestMakeDoesNotLearnWhatIsListed(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
	}{
		{"a list without auto", Config{Make: []string{"traceparent"}}},
		{"a format that is not asked", Config{TraceHeaders: []string{"traceparent"}}},
	}
	for _, tt := range tests {
		c := carrier(t, tt.cfg)
		c.Learn(idsOf(c, "b3: "+hexA+"-b7ad6b7169203331-1\n"))
		h := parse(traceparentA)
		ids := new(IDs)
		c.IDs(h, ids)
		c.Make(h, ids)
		if got := h.Get("b3"); got != nil {
			t.Errorf("%s: got %q", tt.name, got)
		}
	}
}

// An app forwards one header alone, whichever it knows, and the caller sent no id at all.
func TestATagSurvivesAnAppThatForwardsOneHeader(t *testing.T) {
	for _, name := range KnownTraceHeaders() {
		t.Run(name, func(t *testing.T) {
			c := carrier(t, Config{Make: []string{"auto", name}})
			l := NewLedger(100, time.Minute)
			now := time.Unix(1, 0)
			var forwarded [2]*head
			for i, tag := range []string{"gray", "base"} {
				h, ids := parse(""), new(IDs)
				c.IDs(h, ids)
				c.Make(h, ids)
				l.Put(now, ids, tag)
				forwarded[i] = parse(fmt.Sprintf("%s: %s\n", name, h.Get(name)))
			}
			for i, want := range []string{"gray", "base"} {
				ids := new(IDs)
				c.IDs(forwarded[i], ids)
				if got, ok := l.Get(now, ids); got != want || !ok {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

// An app reads the ids it knows and sends them on with a span of its own, in a format of its own.
func TestATagSurvivesAnAppThatTranslates(t *testing.T) {
	c := carrier(t, Config{Rand: counter()})
	h, ids := parse(""), new(IDs)
	c.IDs(h, ids)
	c.Make(h, ids)
	l := NewLedger(100, time.Minute)
	now := time.Unix(1, 0)
	l.Put(now, ids, "gray")
	id := string(ids.Trace())
	for _, sent := range []string{
		"traceparent: 00-" + id + "-9999999999999999-00\n",
		"b3: " + id + "-9999999999999999-0\n",
		"b3: " + id[16:] + "-9999999999999999-0\n",
		"X-B3-TraceId: " + strings.ToUpper(id) + "\n",
		"uber-trace-id: " + id + ":9:9:1\n",
		"x-datadog-trace-id: 2459565876494606882\n",
		"sw8: " + sw8(id) + "\n",
		"X-Amzn-Trace-Id: Root=1-" + id[:8] + "-" + id[8:] + "\n",
	} {
		if got, _ := l.Get(now, idsOf(c, sent)); got != "gray" {
			t.Errorf("%s: got %q, want gray", sent, got)
		}
	}
}
