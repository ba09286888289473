package propagate

import (
	"strings"
	"testing"
)

const (
	traceparentA = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n"
	upperA       = "traceparent: 00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01\n"
)

func TestReadTakesTheFirstRungThatSaysATag(t *testing.T) {
	long := strings.Repeat("a", 63)
	tests := []struct {
		name, head, tag string
		source          Source
	}{
		{"nothing", "", "", SourceBase},
		{"the header", "X-Gray: gray\n", "gray", SourceHeader},
		{"in any case", "x-gRAY: blue\n", "blue", SourceHeader},
		{"spaces and tabs around", "X-Gray: \t gray \t\n", "gray", SourceHeader},
		{"true is gray", "X-Gray: true\n", "gray", SourceHeader},
		{"1 is gray", "X-Gray: 1\n", "gray", SourceHeader},
		{"false is base", "X-Gray: false\n", "base", SourceHeader},
		{"0 is base", "X-Gray: 0\n", "base", SourceHeader},
		{"a tag that no policy names", "X-Gray: pr-142\n", "pr-142", SourceHeader},
		{"the longest tag", "X-Gray: " + long + "\n", long, SourceHeader},

		{"empty is none", "X-Gray:\n", "", SourceBase},
		{"too long is none", "X-Gray: " + long + "a\n", "", SourceBase},
		{"8 KiB is none", "X-Gray: " + strings.Repeat("g", 8<<10) + "\n", "", SourceBase},
		{"upper case is none", "X-Gray: Gray\n", "", SourceBase},
		{"a space inside is none", "X-Gray: gr ay\n", "", SourceBase},
		{"a list is none", "X-Gray: gray, gray\n", "", SourceBase},
		{"a dash at an end is none", "X-Gray: -gray\n", "", SourceBase},
		{"an underscore is none", "X-Gray: pr_1\n", "", SourceBase},
		{"CR LF is none", "X-Gray: gray\r\n", "", SourceBase},
		{"a look-alike is another header", "X_Gray: gray\n", "", SourceBase},

		{"lines that agree", "X-Gray: gray\nx-gray: true\n", "gray", SourceHeader},
		{"lines that differ say nothing", "X-Gray: gray\nX-Gray: base\n", "", SourceBase},
		{"lines that differ leave it to baggage", "X-Gray: gray\nX-Gray: base\nbaggage: x-gray=blue\n", "blue", SourceBaggage},
		{"a line that is no tag does not count", "X-Gray: ??\nX-Gray: gray\n", "gray", SourceHeader},

		{"the baggage member", "baggage: x-gray=gray\n", "gray", SourceBaggage},
		{"among others", "Baggage: a=1, x-gray=gray,b=2\n", "gray", SourceBaggage},
		{"on a second line", "baggage: a=1\nBAGGAGE: x-gray=gray\n", "gray", SourceBaggage},
		{"with properties", "baggage: x-gray=gray;ttl=5;p, b=2\n", "gray", SourceBaggage},
		{"with spaces all over", "baggage: a = 1 ,\t x-gray \t=  gray ; p = 1 , b=2\n", "gray", SourceBaggage},
		{"percent-encoded", "baggage: x-gray=%67r%61y\n", "gray", SourceBaggage},
		{"true is no tag there", "baggage: x-gray=true\n", "", SourceBase},
		{"1 is no tag there", "baggage: x-gray=%31\n", "", SourceBase},
		{"what is no tag there does not count", "baggage: x-gray=true,x-gray=blue\n", "blue", SourceBaggage},
		{"after an invalid member", "baggage: ,=,;;,a,%%%,x-gray=gray\n", "gray", SourceBaggage},
		{"members that agree", "baggage: x-gray=gray,x-gray=gray\n", "gray", SourceBaggage},
		{"members that differ say nothing", "baggage: x-gray=gray,x-gray=base\n", "", SourceBase},
		{"the key is case-sensitive", "baggage: X-Gray=gray\n", "", SourceBase},
		{"another key", "baggage: gray=gray,xx-gray=gray,x-gray2=gray\n", "", SourceBase},
		{"no value", "baggage: x-gray\n", "", SourceBase},
		{"CR LF after decoding is none", "baggage: x-gray=gray%0d%0aX-Auth:%20admin\n", "", SourceBase},
		{"half an escape is none", "baggage: x-gray=gray%6\n", "", SourceBase},
		{"an escape of no digits is none", "baggage: x-gray=gra%7z\n", "", SourceBase},
		{"a nul after decoding is none", "baggage: x-gray=gray%00\n", "", SourceBase},
		{"too long after decoding is none", "baggage: x-gray=" + strings.Repeat("%61", 64) + "\n", "", SourceBase},
		{"the longest after decoding", "baggage: x-gray=" + strings.Repeat("%61", 63) + "\n", long, SourceBaggage},
		{"a tag header of another name", "X-Team: gray\n", "", SourceBase},

		{"the tracestate member", traceparentA + "tracestate: graylane=gray\n", "gray", SourceTracestate},
		{"among other vendors", traceparentA + "tracestate: rojo=00f067,  graylane=gray ,congo=t61\n", "gray", SourceTracestate},
		{"its own line", traceparentA + "tracestate: a=1\ntracestate: graylane=gray\n", "gray", SourceTracestate},
		{"false is no tag there", traceparentA + "tracestate: graylane=false\n", "", SourceBase},
		{"0 is no tag there", traceparentA + "tracestate: graylane=0\n", "", SourceBase},
		{"without a traceparent", "tracestate: graylane=gray\n", "gray", SourceTracestate},
		{"beside an invalid traceparent", upperA + "tracestate: graylane=gray\n", "", SourceBase},
		{"beside two traceparents", traceparentA + traceparentA + "tracestate: graylane=gray\n", "", SourceBase},
		{"a tenant of ours is not us", traceparentA + "tracestate: t@graylane=gray\n", "", SourceBase},
		{"percent is not decoded there", traceparentA + "tracestate: graylane=gr%61y\n", "", SourceBase},

		{"the header before baggage", "baggage: x-gray=gray\nX-Gray: base\n", "base", SourceHeader},
		{"baggage before tracestate", traceparentA + "tracestate: graylane=gray\nbaggage: x-gray=blue\n", "blue", SourceBaggage},
		{"baggage where the header is no tag", "X-Gray: NO\nbaggage: x-gray=gray\n", "gray", SourceBaggage},
	}
	c := carrier(t, Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := parse(tt.head)
			tag, source, ok := c.Read(h, &xGray, intern)
			if tag != tt.tag || source != tt.source || ok != (tt.tag != "") {
				t.Errorf("got %q from %v, %v, want %q from %v", tag, source, ok, tt.tag, tt.source)
			}
			if got := h.String(); got != parse(tt.head).String() {
				t.Errorf("reading has changed the head to %q", got)
			}
		})
	}
}

func TestReadKnowsOtherNamesAndWords(t *testing.T) {
	w := Wire{
		Header: "X-Team",
		Accept: []string{"x-mse-tag", "X-Old"},
		Words:  map[string]string{"on": "gray", "off": "base", "false": "base", "Blue,1": "blue"},
	}
	tests := []struct{ name, head, tag string }{
		{"a word of the header", "X-Team: Blue,1\n", "blue"},
		{"the tag itself", "X-Team: blue\n", "blue"},
		{"a word that could be a tag", "X-Team: on\n", "gray"},
		{"which is none in baggage", "baggage: x-gray=on\n", ""},
		{"nor in tracestate", "tracestate: graylane=off\n", ""},
		{"a boolean", "X-Team: false\n", "base"},
		{"another name", "X-MSE-Tag: gray\n", "gray"},
		{"the last of the other names", "x-old: Blue,1\n", "blue"},
		{"the header first", "x-mse-tag: gray\nX-Team: base\n", "base"},
		{"other names in order", "x-old: gray\nx-mse-tag: base\n", "base"},
		{"the default name means nothing now", "X-Gray: gray\n", ""},
		{"baggage has the tag alone", "baggage: x-gray=Blue,1\n", ""},
		{"the baggage member keeps its name", "baggage: x-gray=blue\n", "blue"},
	}
	c := carrier(t, Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tag, _, _ := c.Read(parse(tt.head), &w, intern); tag != tt.tag {
				t.Errorf("got %q, want %q", tag, tt.tag)
			}
		})
	}
}

func TestSourcesHaveNames(t *testing.T) {
	want := "header baggage tracestate ledger pod rule base undecided off"
	var got []string
	for _, s := range Sources() {
		got = append(got, s.String())
	}
	if got := strings.Join(got, " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Source(200).String(); got != "unknown" {
		t.Errorf("got %q, want unknown", got)
	}
}
