package propagate

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// FuzzRead: whatever the lines hold, what is read is a tag, and what is written over it reads back.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"gray", "x-gray=gray", "a=1, x-gray=%67ray;p,b", "graylane=gray,a=1", "\r\n", ",,=", "x-gray=%0d%0a", "x-gray=%"} {
		f.Add(seed, seed, seed, seed)
	}
	c := carrier(f, Config{})
	f.Fuzz(func(t *testing.T, x, b1, b2, ts string) {
		h := &head{lines: []line{{"X-Gray", []byte(x)}, {"baggage", []byte(b1)}, {"baggage", []byte(b2)}, {"tracestate", []byte(ts)}}}
		others := foreign(h)
		if tag, _, ok := c.Read(h, &xGray, intern); ok != validTag(tag) {
			t.Errorf("read %q, %v", tag, ok)
		}
		c.Write(h, &xGray, "blue")
		h.Del("X-Gray")
		if tag, src, _ := c.Read(h, &xGray, intern); tag != "blue" || src != SourceBaggage {
			t.Errorf("read back %q from %v in %q", tag, src, h)
		}
		h.Del("baggage")
		if tag, src, _ := c.Read(h, &xGray, intern); tag != "blue" || src != SourceTracestate {
			t.Errorf("read back %q from %v in %q", tag, src, h)
		}
		if n := len(h.Get("tracestate")); n > tracestate.bytes {
			t.Errorf("tracestate has %d bytes", n)
		}
		c.Strip(h, &xGray)
		if v := h.Get("tracestate"); bytes.Contains(v, []byte("graylane=")) && !bytes.Contains(others, []byte("graylane=")) {
			t.Errorf("ours is left: %q", v)
		}
		for m := (members{lines: h.Values(nil, "tracestate")}); m.next(); {
			if !bytes.Contains(others, trim(m.raw)) {
				t.Errorf("member %q was not there: %q", m.raw, others)
			}
		}
	})
}

// foreign is every member that came and is not ours, as it came.
func foreign(h *head) []byte {
	var all []byte
	for m := (members{lines: h.Values(nil, "tracestate")}); m.next(); {
		if _, ours := tracestate.own(m.raw); !ours {
			all = append(append(all, m.raw...), ',')
		}
	}
	return all
}

// FuzzStrip: members of others stay, in their order and byte for byte.
func FuzzStrip(f *testing.F) {
	for _, seed := range []string{"a=1", "x-gray=gray", "a=1 , x-gray = gray;p ,b=2", ",,", " ,x-gray=,"} {
		f.Add(seed, seed)
	}
	c := carrier(f, Config{})
	f.Fuzz(func(t *testing.T, one, two string) {
		h := &head{lines: []line{{"baggage", []byte(one)}, {"baggage", []byte(two)}}}
		want := otherMembers(h)
		c.Strip(h, &xGray)
		if got := otherMembers(h); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if strings.Contains(h.String(), "x-gray=") && !strings.Contains(want, "x-gray=") {
			t.Errorf("ours is left: %q", h)
		}
	})
}

func otherMembers(h *head) string {
	var all []string
	for m := (members{lines: h.Values(nil, "baggage")}); m.next(); {
		if _, ours := baggage.own(m.raw); !ours && !blank(m.raw) {
			all = append(all, string(trim(m.raw)))
		}
	}
	return strings.Join(all, ",")
}

// FuzzIDs: whatever a trace header holds, it is read or it is not; what is made beside it leaves a
// valid traceparent, and the request is found by what it then carries.
func FuzzIDs(f *testing.F) {
	values := []string{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", hexA + "-b7ad6b7169203331-1-b7ad6b7169203331",
		hexA, "abc", hexA + ":1:0:1", sw8("a.b"), "123", "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1",
	}
	for n, v := range values {
		f.Add(uint8(n), v, "0")
		f.Add(uint8(n), v[:len(v)/2], v)
	}
	c := carrier(f, Config{Make: KnownTraceHeaders()})
	f.Fuzz(func(t *testing.T, which uint8, value, companion string) {
		name := formats[which%formatCount].name
		h := &head{lines: []line{{name, []byte(value)}}}
		for _, n := range []string{"X-B3-Sampled", "X-B3-SpanId", "x-datadog-tags", "x-datadog-parent-id", "x-datadog-sampling-priority"} {
			h.lines = append(h.lines, line{n, []byte(companion)})
		}
		ids := new(IDs)
		c.IDs(h, ids)
		came := ids.n > 0
		c.Make(h, ids)
		l := NewLedger(10, time.Minute)
		l.Put(start, ids, "gray")
		if came && string(h.Get(name)) != value {
			t.Errorf("%s: %q became %q", name, value, h.Get(name))
		}
		for f := range formats {
			if h.Get(formats[f].name) == nil {
				continue // Datadog cannot write an id whose lower half is zero
			}
			again := new(IDs)
			one := new(head)
			one.Set(formats[f].name, h.Get(formats[f].name))
			c.IDs(one, again)
			if got, _ := l.Get(start, again); got != "gray" {
				t.Errorf("%q is not found by %s in %q", value, formats[f].name, h)
			}
		}
	})
}
