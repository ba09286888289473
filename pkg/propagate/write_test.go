package propagate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWritePutsTheTagThreeTimes(t *testing.T) {
	tests := []struct{ name, head, want string }{
		{"on a bare request",
			"Host: users\n",
			"Host: users\nX-Gray: gray\nbaggage: x-gray=gray\ntracestate: graylane=gray\n"},
		{"before the members of others",
			"baggage: a=1;p=%20, b = 2\ntracestate: rojo=00f067, congo=t61\n",
			"baggage: x-gray=gray,a=1;p=%20, b = 2\ntracestate: graylane=gray,rojo=00f067, congo=t61\nX-Gray: gray\n"},
		{"in place of another tag",
			"X-Gray: blue\nx-gray: base\nbaggage: a=1,x-gray=blue;p,b=2\ntracestate: r=1,graylane=base\n",
			"baggage: x-gray=gray,a=1,b=2\ntracestate: graylane=gray,r=1\nX-Gray: gray\n"},
		{"once",
			"baggage: x-gray=gray,x-gray=gray\ntracestate: graylane=gray,graylane=blue\n",
			"baggage: x-gray=gray\ntracestate: graylane=gray\nX-Gray: gray\n"},
		{"on one line, when a list changes",
			"baggage: a=1\nbaggage: b=2\ntracestate: a=1\ntracestate: b=2\n",
			"baggage: x-gray=gray,a=1,b=2\ntracestate: graylane=gray,a=1,b=2\nX-Gray: gray\n"},
		{"and leaves a list that says it already",
			"baggage: a=1 ,, x-gray=gray\nbaggage:b=2\ntracestate: a=1,\tgraylane=gray\ntracestate: b=2\n",
			"baggage: a=1 ,, x-gray=gray\nbaggage: b=2\ntracestate: a=1,\tgraylane=gray\ntracestate: b=2\nX-Gray: gray\n"},
		{"and spells a boolean out",
			"X-Gray: true\nbaggage: x-gray=1\n",
			"baggage: x-gray=gray\nX-Gray: gray\ntracestate: graylane=gray\n"},
		{"and takes look-alikes off",
			"X_Gray: base\nX.GRAY: base\nx_gray: base\nX-Gray-Too: 1\nXGray: 1\n",
			"X-Gray-Too: 1\nXGray: 1\nX-Gray: gray\nbaggage: x-gray=gray\ntracestate: graylane=gray\n"},
		{"in place of an empty list",
			"baggage:\ntracestate:\n",
			"baggage: x-gray=gray,\ntracestate: graylane=gray,\nX-Gray: gray\n"},
		{"beside members that are invalid",
			"baggage: =,a b=c,\xff\n",
			"baggage: x-gray=gray,=,a b=c,\xff\nX-Gray: gray\ntracestate: graylane=gray\n"},
	}
	c := carrier(t, Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := parse(tt.head)
			c.Write(h, &xGray, "gray")
			if diff := cmp.Diff(h.String(), tt.want); diff != "" {
				t.Errorf("got -, want +\n%s", diff)
			}
		})
	}
}

func TestWriteUsesTheHeadersOwnNamesAndValues(t *testing.T) {
	w := Wire{Header: "gray", Accept: []string{"x-mse-tag"}, Values: map[string]string{"gray": "true"}}
	c := carrier(t, Config{})
	h := parse("X_MSE_TAG: blue\nx-mse-tag: blue\n")
	c.Write(h, &w, "gray")
	if got, want := h.String(), "gray: true\nbaggage: x-gray=gray\ntracestate: graylane=gray\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Write(h, &w, "blue")
	if got, want := h.String(), "baggage: x-gray=blue\ntracestate: graylane=blue\ngray: blue\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriteNeverWritesWhatIsNoTag(t *testing.T) {
	c := carrier(t, Config{})
	for _, tag := range []string{"", "canary\r\nX-Auth: admin", "a b", "Gray", "a,b=c", strings.Repeat("a", 64), "true", "0"} {
		h := parse("X-Gray: gray\n")
		c.Write(h, &xGray, tag)
		if got, want := h.String(), "X-Gray: base\nbaggage: x-gray=base\ntracestate: graylane=base\n"; got != want {
			t.Errorf("tag %q: got %q, want %q", tag, got, want)
		}
	}
}

// A word would be read as the tag that it means.
func TestWriteNeverWritesAWord(t *testing.T) {
	c := carrier(t, Config{})
	h := parse("")
	c.Write(h, &Wire{Header: "X-Gray", Words: map[string]string{"on": "gray"}}, "on")
	if got, want := h.String(), "X-Gray: base\nbaggage: x-gray=base\ntracestate: graylane=base\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStripTakesOursAloneOff(t *testing.T) {
	tests := []struct{ name, head, want string }{
		{"nothing of ours", "baggage: a=1 ,, b=2\nbaggage: c\ntracestate: r=1 , s=2\nA: b\n", "baggage: a=1 ,, b=2\nbaggage: c\ntracestate: r=1 , s=2\nA: b\n"},
		{"nothing else", "x-gray: gray\nbaggage: x-gray=gray\ntracestate: graylane=gray\nA: b\n", "A: b\n"},
		{"in front", "baggage: x-gray=gray, a=1 , b=2\n", "baggage: a=1 , b=2\n"},
		{"behind", "tracestate: a=1,\tb=2 , graylane=gray\n", "tracestate: a=1,\tb=2\n"},
		{"between", "baggage: a=1;p , x-gray=gray;q , b=%2C\n", "baggage: a=1;p , b=%2C\n"},
		{"twice", "baggage: x-gray=gray,a=1,x-gray=blue\n", "baggage: a=1\n"},
		{"a line to itself", "baggage: a=1\nbaggage: x-gray=gray\nbaggage: b=2\n", "baggage: a=1,b=2\n"},
		{"among empty members", "baggage: ,x-gray=gray, ,\n", ""},
		{"what is no tag", "X-Gray: ???\nbaggage: x-gray=?\ntracestate: graylane=\n", ""},
		{"look-alikes", "X_Gray: gray\nx.gray: 1\nX-Grayer: 1\n", "X-Grayer: 1\n"},
	}
	c := carrier(t, Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := parse(tt.head)
			c.Strip(h, &xGray)
			if got := h.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("other names", func(t *testing.T) {
		h := parse("x-mse-tag: gray\nX_Mse-Tag: gray\nX-Gray: gray\n")
		c.Strip(h, &Wire{Header: "X-Team", Accept: []string{"x-mse-tag"}})
		if got, want := h.String(), "X-Gray: gray\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Tracers are less exact about keys than W3C: each of these becomes x-gray in one of them, which sends
// it on spelled as ours.
var otherSpellings = []string{
	"baggage: x%2Dgray=gray\n",
	"baggage: x%2dgray=gray;p\n",
	"baggage: %78%2d%67%72%61%79 = gray\n",
	"baggage: X-Gray=gray\n",
	"baggage: \t x-gray\t=gray,x-gray=gray\n",
	"baggage: %20x-gray%0A=gray\n",
	"baggage: +x-gray+=gray\n",
	"baggage: \xa0x-gray=gray\n",
	"baggage: x-gray=\nbaggage: X%2DGRAY=gray\n",
	"tracestate: Graylane=gray,gray%6cane=gray\n",
	"uberctx-x-gray: gray\n",
	"UberCtx_X_Gray: gray\n",
	"ot-baggage-x-gray: gray\nOT-Baggage-X.Gray: gray\n",
	"baggage-x-gray: gray\nbaggage_x_gray: gray\n",
	"jaeger-baggage: x-gray=gray\n",
	"Jaeger-Baggage: x%2Dgray = gray , X-Gray=gray\n",
	"Correlation-Context: x-gray=gray\n",
}

func TestOtherSpellingsOfOurMemberGoNoFurther(t *testing.T) {
	const ours = "X-Gray: base\nbaggage: x-gray=base\ntracestate: graylane=base\n"
	c := carrier(t, Config{})
	for _, spelled := range otherSpellings {
		h := parse(spelled)
		c.Write(h, &xGray, "base")
		if got, want := sortLines(h.String()), sortLines(ours); !cmp.Equal(got, want) {
			t.Errorf("%q: Write made %q, want %q", spelled, got, want)
		}
		h = parse(spelled)
		c.Strip(h, &xGray)
		if got := h.String(); got != "" {
			t.Errorf("%q: Strip left %q", spelled, got)
		}
	}
}

func TestOtherSpellingsOfOurMemberAreNotRead(t *testing.T) {
	c := carrier(t, Config{})
	for _, spelled := range otherSpellings {
		if strings.Contains(spelled, ",x-gray=gray") { // as we spell it, beside a space
			continue
		}
		if tag, _, ok := c.Read(parse(spelled), &xGray, intern); ok {
			t.Errorf("%q: read %q, want nothing", spelled, tag)
		}
	}
}

func TestMembersOfOthersStayInOtherHeadersOfBaggage(t *testing.T) {
	const others = "uberctx-x-grayer: 1\nuberctx-user: 7\nbaggage-x-gra: 1\njaeger-baggage: a=1 , b=2\n" +
		"correlation-context: x%2Dgra=1, x-gray-too=1 ,=,xgray=1,x%2=1\n"
	c := carrier(t, Config{})
	h := parse(others)
	c.Strip(h, &xGray)
	if got := h.String(); got != others {
		t.Errorf("got %q, want %q", got, others)
	}
	h = parse("jaeger-baggage: a=1,x-gray=gray, b=2\n")
	c.Strip(h, &xGray)
	if got, want := h.String(), "jaeger-baggage: a=1, b=2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStripLeavesALongListWhole(t *testing.T) {
	others := members64("k", 80)
	h := parse("baggage: x-gray=gray," + others + "\n")
	carrier(t, Config{}).Strip(h, &xGray)
	if got := string(h.Get("baggage")); got != others {
		t.Errorf("got %q, want %q", got, others)
	}
}

// members64 is n members prefix00=0, prefix01=1, ...
func members64(prefix string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%02d=%d", prefix, i, i)
	}
	return strings.Join(all, ",")
}

func TestBaggageKeepsToTheLimits(t *testing.T) {
	const ours = "x-gray=gray"
	pad := func(n int) string { return "p=" + strings.Repeat("x", n-2) } // one member of n bytes
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"63 members and ours", []string{members64("k", 63)}, ours + "," + members64("k", 63)},
		{"64 members and ours", []string{members64("k", 64)}, ours + "," + members64("k", 63)},
		{"64 members, ours among them", []string{members64("k", 63) + "," + ours}, members64("k", 63) + "," + ours},
		{"65 members, ours the last", []string{members64("k", 64) + "," + ours}, ours + "," + members64("k", 63)},
		{"200 members", []string{members64("k", 99), members64("l", 99)}, ours + "," + members64("k", 63)},
		{"8192 bytes with ours", []string{pad(8192 - len(ours) - 1)}, ours + "," + pad(8192-len(ours)-1)},
		{"8193 bytes with ours", []string{"a=1," + pad(8193-len(ours)-1-4) + ",b=2"}, ours + ",a=1"},
		{"8192 bytes, ours among them", []string{ours + "," + pad(8192-len(ours)-1)}, ours + "," + pad(8192-len(ours)-1)},
		{"two lines of 4096", []string{pad(4096), pad(4096)}, ours + "," + pad(4096)},
		{"one member of 9000", []string{pad(9000)}, ours},
		{"empty members do not count", []string{strings.Repeat(",", 70) + members64("k", 63)}, ours + "," + strings.Repeat(",", 70) + members64("k", 63)},
	}
	c := carrier(t, Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := new(head)
			for _, l := range tt.lines {
				h.lines = append(h.lines, line{"baggage", []byte(l)})
			}
			c.Write(h, &xGray, "gray")
			if diff := cmp.Diff(string(h.Get("baggage")), tt.want); diff != "" {
				t.Errorf("got -, want +\n%s", diff)
			}
			if got, _, _ := c.Read(h, &xGray, intern); got != "gray" {
				t.Errorf("tag is lost: %q", got)
			}
		})
	}
}

func TestTracestateKeepsToTheLimits(t *testing.T) {
	const ours = "graylane=gray"
	big := func(key string, n int) string { return key + "=" + strings.Repeat("x", n-2) }
	tests := []struct{ name, came, want string }{
		{"31 members and ours", members64("k", 31), ours + "," + members64("k", 31)},
		{"32 members and ours", members64("k", 32), ours + "," + members64("k", 31)},
		{"512 bytes with ours", big("a", 100) + "," + big("b", 512-13-1-101), ours + "," + big("a", 100) + "," + big("b", 512-13-1-101)},
		{"large members go first, from the end",
			strings.Join([]string{big("a", 129), big("b", 100), big("c", 170), big("d", 100), big("e", 129)}, ","),
			strings.Join([]string{ours, big("a", 129), big("b", 100), big("d", 100)}, ",")},
		{"128 bytes is not large",
			strings.Join([]string{big("a", 128), big("b", 128), big("c", 128), big("d", 128)}, ","),
			strings.Join([]string{ours, big("a", 128), big("b", 128), big("c", 128)}, ",")},
		{"a large member stays where there is room", big("a", 300) + "," + members64("k", 10), ours + "," + big("a", 300) + "," + members64("k", 10)},
		{"a large member is the one too many", big("a", 200) + "," + members64("k", 31), ours + "," + members64("k", 31)},
	}
	c := carrier(t, Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := parse("tracestate: " + tt.came + "\n")
			c.Write(h, &xGray, "gray")
			if diff := cmp.Diff(string(h.Get("tracestate")), tt.want); diff != "" {
				t.Errorf("got -, want +\n%s", diff)
			}
		})
	}
}

func TestWriteIsStable(t *testing.T) {
	c := carrier(t, Config{})
	h := parse("baggage: " + members64("k", 80) + "\ntracestate: " + members64("k", 80) + "\n")
	c.Write(h, &xGray, "gray")
	once := h.String()
	c.Write(h, &xGray, "gray")
	if diff := cmp.Diff(sortLines(h.String()), sortLines(once)); diff != "" {
		t.Errorf("a second hop changes it: got -, want +\n%s", diff)
	}
}

func sortLines(s string) []string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return lines
}
