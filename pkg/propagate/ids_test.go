package propagate

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const hexA = "0af7651916cd43dd8448eb211c80319c"

func sw8(trace string) string {
	b := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("1-%s-%s-3-%s-%s-%s-%s", b([]byte(trace)), b([]byte("segment")),
		b([]byte("svc")), b([]byte("inst")), b([]byte("/p")), b([]byte("a:80")))
}

// idsOf returns the ids of a head that is given as text.
func idsOf(c *Carrier, text string) *IDs {
	ids := new(IDs)
	c.IDs(parse(text), ids)
	return ids
}

func TestAnIDIsReadFromEachFormat(t *testing.T) {
	const (
		short = "8448eb211c80319c"
		span  = "b7ad6b7169203331"
	)
	tests := []struct {
		name, head string
		trace      string // "": no id
		record     sampling
	}{
		{"traceparent", "traceparent: 00-" + hexA + "-" + span + "-01\n", hexA, sampled},
		{"traceparent, unsampled", "traceparent: 00-" + hexA + "-" + span + "-00\n", hexA, unsampled},
		{"traceparent, random flag", "traceparent: 00-" + hexA + "-" + span + "-02\n", hexA, unsampled},
		{"traceparent, unknown flags", "traceparent: 00-" + hexA + "-" + span + "-ff\n", hexA, sampled},
		{"traceparent, spaces around", "traceparent: \t00-" + hexA + "-" + span + "-01 \n", hexA, sampled},
		{"traceparent, later version", "traceparent: cc-" + hexA + "-" + span + "-01\n", hexA, sampled},
		{"traceparent, later version with more", "traceparent: cc-" + hexA + "-" + span + "-01-what\n", hexA, sampled},
		{"traceparent, later version with a dash", "traceparent: cc-" + hexA + "-" + span + "-01-\n", hexA, sampled},

		{"version ff", "traceparent: ff-" + hexA + "-" + span + "-01\n", "", unsaid},
		{"version .0", "traceparent: .0-" + hexA + "-" + span + "-01\n", "", unsaid},
		{"version 0.", "traceparent: 0.-" + hexA + "-" + span + "-01\n", "", unsaid},
		{"version 000", "traceparent: 000-" + hexA + "-" + span + "-01\n", "", unsaid},
		{"version 0", "traceparent: 0-" + hexA + "-" + span + "-01\n", "", unsaid},
		{"version CC", "traceparent: CC-" + hexA + "-" + span + "-01\n", "", unsaid},
		{"upper-case trace", "traceparent: 00-" + strings.ToUpper(hexA) + "-" + span + "-01\n", "", unsaid},
		{"upper-case span", "traceparent: 00-" + hexA + "-" + strings.ToUpper(span) + "-01\n", "", unsaid},
		{"zero trace", "traceparent: 00-" + strings.Repeat("0", 32) + "-" + span + "-01\n", "", unsaid},
		{"zero span", "traceparent: 00-" + hexA + "-0000000000000000-01\n", "", unsaid},
		{"short trace", "traceparent: 00-" + hexA[1:] + "-" + span + "-01\n", "", unsaid},
		{"long trace", "traceparent: 00-" + hexA + "0-" + span + "-01\n", "", unsaid},
		{"short span", "traceparent: 00-" + hexA + "-" + span[1:] + "-01\n", "", unsaid},
		{"long span", "traceparent: 00-" + hexA + "-" + span + "0-01\n", "", unsaid},
		{"illegal trace", "traceparent: 00-" + hexA[:31] + ".-" + span + "-01\n", "", unsaid},
		{"00 with more", "traceparent: 00-" + hexA + "-" + span + "-01-extra\n", "", unsaid},
		{"00 with a dash", "traceparent: 00-" + hexA + "-" + span + "-01-\n", "", unsaid},
		{"later version with a dot", "traceparent: cc-" + hexA + "-" + span + "-01.what\n", "", unsaid},
		{"flags 1", "traceparent: 00-" + hexA + "-" + span + "-1\n", "", unsaid},
		{"flags 001", "traceparent: 00-" + hexA + "-" + span + "-001\n", "", unsaid},
		{"flags .0", "traceparent: 00-" + hexA + "-" + span + "-.0\n", "", unsaid},
		{"flags 0.", "traceparent: 00-" + hexA + "-" + span + "-0.\n", "", unsaid},
		{"flags 0A", "traceparent: 00-" + hexA + "-" + span + "-0A\n", "", unsaid},
		{"underscores", "traceparent: 00_" + hexA + "_" + span + "_01\n", "", unsaid},
		{"empty", "traceparent:\n", "", unsaid},
		{"two of them", traceparentA + traceparentA, "", unsaid},
		{"two in a list", "traceparent: 00-" + hexA + "-" + span + "-01,00-" + hexA + "-" + span + "-01\n", "", unsaid},

		{"b3", "b3: " + hexA + "-" + span + "-1\n", hexA, sampled},
		{"b3, unsampled", "B3: " + hexA + "-" + span + "-0\n", hexA, unsampled},
		{"b3, debug, with parent", "b3: " + hexA + "-" + span + "-d-" + span + "\n", hexA, sampled},
		{"b3, undecided", "b3: " + hexA + "-" + span + "\n", hexA, unsaid},
		{"b3, 64 bits", "b3: " + short + "-" + span + "-1\n", short, sampled},
		{"b3, upper case", "b3: " + strings.ToUpper(hexA) + "-" + span + "-1\n", hexA, sampled},
		{"b3, zero upper half", "b3: 0000000000000000" + short + "-" + span + "-1\n", short, sampled},
		{"b3, no span", "b3: " + hexA + "\n", "", unsaid},
		{"b3, zero span", "b3: " + hexA + "-0000000000000000-1\n", "", unsaid},
		{"b3, short span", "b3: " + hexA + "-" + span[1:] + "-1\n", "", unsaid},
		{"b3, 24 digits", "b3: " + hexA[8:] + "-" + span + "-1\n", "", unsaid},
		{"b3, strange state", "b3: " + hexA + "-" + span + "-2\n", "", unsaid},
		{"b3, word for a state", "b3: " + hexA + "-" + span + "-true\n", "", unsaid},
		{"b3, nothing for a state", "b3: " + hexA + "-" + span + "-\n", "", unsaid},
		{"b3, parent for a state", "b3: " + hexA + "-" + span + "-" + span + "\n", "", unsaid},
		{"b3, strange parent", "b3: " + hexA + "-" + span + "-1-x\n", "", unsaid},
		{"b3, sampling alone", "b3: 0\n", "", unsampled},
		{"b3, debug alone", "b3: d\n", "", sampled},

		{"X-B3", "X-B3-TraceId: " + hexA + "\nX-B3-SpanId: " + span + "\nX-B3-Sampled: 1\n", hexA, sampled},
		{"X-B3, id alone", "x-b3-traceid: " + short + "\n", short, unsaid},
		{"X-B3, unsampled", "X-B3-TraceId: " + hexA + "\nX-B3-Sampled: 0\n", hexA, unsampled},
		{"X-B3, false", "X-B3-TraceId: " + hexA + "\nX-B3-Sampled: false\n", hexA, unsampled},
		{"X-B3, debug", "X-B3-TraceId: " + hexA + "\nX-B3-Sampled: 0\nX-B3-Flags: 1\n", hexA, sampled},
		{"X-B3, zero", "X-B3-TraceId: 0000000000000000\n", "", unsaid},
		{"X-B3, 17 digits", "X-B3-TraceId: " + short + "0\n", "", unsaid},

		{"uber-trace-id", "uber-trace-id: " + hexA + ":" + span + ":0:1\n", hexA, sampled},
		{"uber-trace-id, unsampled", "uber-trace-id: " + hexA + ":" + span + ":" + span + ":0\n", hexA, unsampled},
		{"uber-trace-id, debug", "uber-trace-id: " + hexA + ":" + span + "::3\n", hexA, sampled},
		{"uber-trace-id, leading zeros left out", "uber-trace-id: af7651916cd43dd8448eb211c80319c:1:0:1\n", hexA, sampled},
		{"uber-trace-id, 64 bits", "uber-trace-id: " + short + ":" + span + ":0:1\n", short, sampled},
		{"uber-trace-id, escaped", "uber-trace-id: " + hexA + "%3A" + span + "%3a0%3A1\n", hexA, sampled},
		{"uber-trace-id, three parts", "uber-trace-id: " + hexA + ":" + span + ":1\n", "", unsaid},
		{"uber-trace-id, five parts", "uber-trace-id: " + hexA + ":" + span + ":0:1:1\n", "", unsaid},
		{"uber-trace-id, 33 digits", "uber-trace-id: 0" + hexA + ":" + span + ":0:1\n", "", unsaid},
		{"uber-trace-id, zero", "uber-trace-id: 0:" + span + ":0:1\n", "", unsaid},
		{"uber-trace-id, no digits", "uber-trace-id: x:" + span + ":0:1\n", "", unsaid},
		{"uber-trace-id, empty flags", "uber-trace-id: " + hexA + ":" + span + ":0:\n", hexA, unsaid},
		{"uber-trace-id, strange flags", "uber-trace-id: " + hexA + ":" + span + ":0:x\n", "", unsaid},

		{"sw8", "sw8: " + sw8("a6b3.62.16") + "\n", "a6b3.62.16", sampled},
		{"sw8, not sampled", "sw8: 0" + sw8("a6b3.62.16")[1:] + "\n", "a6b3.62.16", unsampled},
		{"sw8, digits", "sw8: " + sw8(hexA) + "\n", hexA, sampled},
		{"sw8, seven fields", "sw8: " + strings.TrimSuffix(sw8("a"), "-YTo4MA==") + "\n", "", unsaid},
		{"sw8, no base64", "sw8: 1-!!!-a-0-a-a-a-a\n", "", unsaid},
		{"sw8, no id", "sw8: 1--a-0-a-a-a-a\n", "", unsaid},
		{"sw8, strange sample", "sw8: 2" + sw8("a")[1:] + "\n", "", unsaid},
		{"sw8, huge", "sw8: " + sw8(strings.Repeat("a", 600)) + "\n", "", unsaid},

		{"datadog", "x-datadog-trace-id: 9532127138774266268\nx-datadog-parent-id: 5\nx-datadog-sampling-priority: 1\n", short, sampled},
		{"datadog, dropped by a user", "x-datadog-trace-id: 9532127138774266268\nx-datadog-sampling-priority: -1\n", short, unsampled},
		{"datadog, dropped", "x-datadog-trace-id: 9532127138774266268\nx-datadog-sampling-priority: 0\n", short, unsampled},
		{"datadog, 128 bits", "x-datadog-trace-id: 9532127138774266268\nx-datadog-tags: _dd.p.dm=-4, _dd.p.tid=0af7651916cd43dd\n", hexA, unsaid},
		{"datadog, broken upper half", "x-datadog-trace-id: 9532127138774266268\nx-datadog-tags: _dd.p.tid=0af7651916cd43d\n", short, unsaid},
		{"datadog, zero", "x-datadog-trace-id: 0\n", "", unsaid},
		{"datadog, largest", "x-datadog-trace-id: 18446744073709551615\n", "ffffffffffffffff", unsaid},
		{"datadog, too large", "x-datadog-trace-id: 18446744073709551616\n", "", unsaid},
		{"datadog, hexadecimal", "x-datadog-trace-id: " + short + "\n", "", unsaid},
		{"datadog, negative", "x-datadog-trace-id: -1\n", "", unsaid},

		{"X-Amzn", "X-Amzn-Trace-Id: Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=" + span + ";Sampled=1\n", hexA, sampled},
		{"X-Amzn, in another order", "X-Amzn-Trace-Id: Self=1-67891234-12456789abcdef012345678; Sampled=0 ; Root=1-0af76519-16cd43dd8448eb211c80319c;CalledFrom=app\n", hexA, unsampled},
		{"X-Amzn, undecided", "X-Amzn-Trace-Id: Root=1-0AF76519-16cd43dd8448eb211c80319c;Sampled=?\n", hexA, unsaid},
		{"X-Amzn, no root", "X-Amzn-Trace-Id: Self=1-0af76519-16cd43dd8448eb211c80319c\n", "", unsaid},
		{"X-Amzn, version 2", "X-Amzn-Trace-Id: Root=2-0af76519-16cd43dd8448eb211c80319c\n", "", unsaid},
		{"X-Amzn, no dash", "X-Amzn-Trace-Id: Root=1-0af7651916cd43dd8448eb211c80319c0\n", "", unsaid},
		{"X-Amzn, zero", "X-Amzn-Trace-Id: Root=1-00000000-000000000000000000000000\n", "", unsaid},

		{"X-Request-Id", "X-Request-ID: a/b c=\n", "a/b c=", unsaid},
		{"X-Request-Id, cut in the log", "X-Request-ID: " + strings.Repeat("r", 100) + "\n", strings.Repeat("r", 64), unsaid},
		{"X-Request-Id, empty", "X-Request-ID:\n", "", unsaid},
		{"X-Request-Id, huge", "X-Request-ID: " + strings.Repeat("r", 1025) + "\n", "", unsaid},
		{"X-Request-Id, twice", "X-Request-ID: a\nX-Request-Id: b\n", "", unsaid},
	}
	c := carrier(t, Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids := idsOf(c, tt.head)
			if got := string(ids.Trace()); got != tt.trace {
				t.Errorf("trace: got %q, want %q", got, tt.trace)
			}
			if known := ids.n > 0; known != (tt.trace != "") {
				t.Errorf("keys: got %d", ids.n)
			}
			if ids.record != tt.record {
				t.Errorf("sampling: got %d, want %d", ids.record, tt.record)
			}
		})
	}
}

// found says whether what was put under the ids of one head is found by those of another.
func found(c *Carrier, put, get string) bool {
	l := NewLedger(10, time.Minute)
	now := time.Unix(1, 0)
	l.Put(now, idsOf(c, put), "gray")
	_, ok := l.Get(now, idsOf(c, get))
	return ok
}

func TestOneIDIsFoundInEveryFormat(t *testing.T) {
	heads := map[string]string{
		"traceparent":        traceparentA,
		"traceparent's next": "traceparent: 00-" + hexA + "-1111111111111111-00\n",
		"b3":                 "b3: " + strings.ToUpper(hexA) + "-b7ad6b7169203331-1\n",
		"X-B3-TraceId":       "X-B3-TraceId: " + hexA + "\n",
		"uber-trace-id":      "uber-trace-id: " + strings.TrimPrefix(hexA, "0") + ":1:0:1\n",
		"sw8":                "sw8: " + sw8(hexA) + "\n",
		"datadog":            "x-datadog-trace-id: 9532127138774266268\nx-datadog-tags: _dd.p.tid=0af7651916cd43dd\n",
		"X-Amzn-Trace-Id":    "X-Amzn-Trace-Id: Root=1-0af76519-16cd43dd8448eb211c80319c\n",
	}
	c := carrier(t, Config{})
	for put, a := range heads {
		for get, b := range heads {
			if !found(c, a, b) {
				t.Errorf("%s is not found by %s", put, get)
			}
		}
	}
}

func TestAnIDOf64BitsIsTheLowerHalf(t *testing.T) {
	const (
		short = "X-B3-TraceId: 8448eb211c80319c\n"
		other = "b3: 1111111111111111" + "8448eb211c80319c" + "-b7ad6b7169203331-1\n"
	)
	c := carrier(t, Config{})
	tests := []struct {
		name, put, get string
		want           bool
	}{
		{"cut by the app", traceparentA, short, true},
		{"decimal", traceparentA, "x-datadog-trace-id: 9532127138774266268\n", true},
		{"padded by the app", short, "traceparent: 00-00000000000000008448eb211c80319c-b7ad6b7169203331-01\n", true},
		{"another upper half", traceparentA, other, false},
		{"an upper half that nobody sent", short, traceparentA, false},
	}
	for _, tt := range tests {
		if got := found(c, tt.put, tt.get); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestIDsThatAreTextKeepToTheirFormat(t *testing.T) {
	c := carrier(t, Config{})
	tests := []struct {
		name, put, get string
		want           bool
	}{
		{"X-Request-Id", "X-Request-Id: abc\n", "x-request-id:  abc \n", true},
		{"another X-Request-Id", "X-Request-Id: abc\n", "X-Request-Id: abd\n", false},
		{"letters in another case", "X-Request-Id: abc\n", "X-Request-Id: ABC\n", false},
		{"beyond what is logged", "X-Request-Id: " + strings.Repeat("r", 100) + "1\n", "X-Request-Id: " + strings.Repeat("r", 100) + "2\n", false},
		{"X-Request-Id is no trace", "X-Request-Id: " + hexA + "\n", traceparentA, false},
		{"sw8, as another span", "sw8: " + sw8("t.1.2") + "\n", "sw8: 0" + sw8("t.1.2")[1:] + "\n", true},
		{"sw8 is no request", "sw8: " + sw8("t.1.2") + "\n", "X-Request-Id: t.1.2\n", false},
	}
	for _, tt := range tests {
		if got := found(c, tt.put, tt.get); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTheFirstIDThatAnswersWins(t *testing.T) {
	const (
		w3c = "traceparent: 00-11111111111111111111111111111111-b7ad6b7169203331-01\n"
		b3  = "b3: 22222222222222222222222222222222-b7ad6b7169203331-1\n"
		req = "X-Request-Id: r\n"
	)
	now := time.Unix(1, 0)
	tests := []struct {
		name    string
		order   []string
		get     string
		want    string
		whoseID string
	}{
		{"traceparent by default", nil, b3 + w3c, "one", strings.Repeat("1", 32)},
		{"b3 where it is listed first", []string{"B3", "Traceparent"}, w3c + b3, "two", strings.Repeat("1", 32)},
		{"the next where the first is not known", nil, req + b3 + "traceparent: 00-33333333333333333333333333333333-b7ad6b7169203331-01\n", "two", strings.Repeat("3", 32)},
		{"the next where the first is invalid", nil, b3 + "traceparent: nonsense\n", "two", strings.Repeat("2", 32)},
		{"the first where the next is invalid", nil, "b3: nonsense\n" + w3c, "one", strings.Repeat("1", 32)},
		{"only what is listed", []string{"X-Request-Id"}, w3c + b3, "", strings.Repeat("1", 32)},
		{"the last", nil, req, "three", "r"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := carrier(t, Config{})
			l := NewLedger(10, time.Minute)
			l.Put(now, idsOf(all, w3c), "one")
			l.Put(now, idsOf(all, b3), "two")
			l.Put(now, idsOf(all, req), "three")
			ids := idsOf(carrier(t, Config{TraceHeaders: tt.order}), tt.get)
			if got, _ := l.Get(now, ids); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := string(ids.Trace()); got != tt.whoseID {
				t.Errorf("log: got %q, want %q", got, tt.whoseID)
			}
		})
	}
}

func TestNewNamesWhatItDoesNotKnow(t *testing.T) {
	_, err := New(Config{TraceHeaders: []string{"traceparent", "x-cloud-trace"}, Make: []string{"AUTO", "b4"}})
	want := `trace header "x-cloud-trace": unknown, want one of traceparent, b3, X-B3-TraceId, X-Request-Id, uber-trace-id, sw8, x-datadog-trace-id, X-Amzn-Trace-Id
trace header to make "b4": unknown, want auto or some of traceparent, b3, X-B3-TraceId, X-Request-Id, uber-trace-id, sw8, x-datadog-trace-id, X-Amzn-Trace-Id`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %v", err, want)
	}
	for _, name := range KnownTraceHeaders() {
		cfg := Config{TraceHeaders: []string{strings.ToUpper(name)}, Make: []string{strings.ToLower(name)}}
		if _, err := New(cfg); err != nil {
			t.Errorf("New(%v): %v", cfg, err)
		}
	}
}

func TestIDsStartOver(t *testing.T) {
	c := carrier(t, Config{})
	ids := idsOf(c, traceparentA+"b3: 0\n")
	c.IDs(parse(""), ids)
	if len(ids.Trace()) != 0 || ids.n != 0 || ids.record != unsaid || ids.found != 0 || !ids.from.trace.zero() {
		t.Errorf("something is left: %+v", ids)
	}
	if slices.ContainsFunc(ids.lines[:], func(l []byte) bool { return l != nil }) {
		t.Error("the head is held")
	}
}
