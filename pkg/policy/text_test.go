package policy

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const version = "apiVersion: graylane.dev/v1\n"

func TestWhatIsNoTextIsRefusedWhereItStands(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a nul":                        {version + "header: \"a\x00b\"\n", "2:11: U+0000, want text without control characters"},
		"an escape character":          {version + "# \x1b[31m\n", "2:3: U+001B, want text without control characters"},
		"a delete":                     {version + "\x7f", "2:1: U+007F, want text without control characters"},
		"a control character of C1":    {version + "header: \u009f", "2:9: U+009F, want text without control characters"},
		"a byte of another encoding":   {version + "# gr\u00fc\xfc\n", "2:6: byte 0xfc, want UTF-8 text"},
		"half a character":             {version + "# \xc3", "2:3: byte 0xc3, want UTF-8 text"},
		"half a pair of UTF-16":        {version + "# \xed\xa0\x80", "2:3: byte 0xed, want UTF-8 text"},
		"a mark where no text begins":  {version + "\ufeffheader: a\n", "2:1: U+FEFF, want text without control characters"},
		"behind line ends with CR":     {"apiVersion: graylane.dev/v1\r\nheader: \x00\r\n", "2:9: U+0000, want text without control characters"},
		"a fault in lines with CR":     {"apiVersion: graylane.dev/v1\r\nheader: a b\r\n", `2:9: header: "a b", want the name of a header`},
		"a fault behind a mark":        {"\ufeff" + version + "header: a b\n", `2:9: header: "a b", want the name of a header`},
		"a syntax fault with CR":       {"apiVersion: graylane.dev/v1\r\nrules: [\r\n", "2:1: no YAML from here, or from the line above: did not find expected node content"},
		"a tab that indents":           {version + "rules:\n\t- {name: a, tag: b}\n", "3:2: no YAML from here, or from the line above: found character that cannot start any token"},
		"a nul in a list on many rows": {version + strings.Repeat("# x\n", 100_000) + "\x00", "100002:1: U+0000, want text without control characters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("policy.yaml", []byte(test.text))
			if want := "policy.yaml:" + test.want; err == nil || err.Error() != want {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func TestTextFromOtherEditorsIsTaken(t *testing.T) {
	const rule = version + "header:\tX-Team \nrules:\n  - name: \"r\u00e9gle\"\n    tag: gray\n"
	for name, text := range map[string]string{
		"as it is":               rule,
		"a mark of byte order":   "\ufeff" + rule,
		"lines that end with CR": strings.ReplaceAll(rule, "\n", "\r\n"),
		"both":                   "\ufeff" + strings.ReplaceAll(rule, "\n", "\r\n"),
		"no end of the last":     strings.TrimSuffix(rule, "\n"),
	} {
		p, err := Parse("policy.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Header != "X-Team" || p.Rules[0].Name != "r\u00e9gle" || p.Rules[0].Tag != Gray {
			t.Errorf("%s: header %q, rule %q with tag %q", name, p.Header, p.Rules[0].Name, p.Rules[0].Tag)
		}
	}
}

// Text that is made to take long is refused like any other.
func TestHardTextIsRefusedInTime(t *testing.T) {
	const most = 1 << 20 // bytes: what grows with their square would take minutes
	for name, text := range map[string]string{
		"deep lists":           "rules: " + strings.Repeat("[", 100_000),
		"deep lists in lines":  "rules:\n" + strings.Repeat("- ", 100_000) + "a",
		"deep mappings":        "rules: " + strings.Repeat("{a: ", 70_000),
		"deep mappings by row": deepRows(2000),
		"deep keys":            strings.Repeat("? ", 100_000),
		"deep matches":         "rules: [{name: a, tag: b, matches: [" + strings.Repeat("{not: ", 5000) + "{method: GET}" + strings.Repeat("}", 5000) + "]}]",
		"a long word":          "header: " + strings.Repeat("x", most),
		"a long text":          "header: \"" + strings.Repeat("x", most) + "\"",
		"a text without end":   "header: \"" + strings.Repeat("x\n", most/2),
		"a long key":           strings.Repeat("x", most) + ": 1",
		"a long name":          "rules: [{name: " + strings.Repeat("x", most) + ", tag: gray}]",
		"a text of many rows":  "header: |\n" + strings.Repeat(" x\n", most/3),
		"a folded text":        "header: >\n" + strings.Repeat(" x\n\n", most/4),
		"a million values":     "rules: [{name: a, tag: b, matches: [{headers: [{name: A, values: [" + strings.Repeat("1,", 1_000_000) + "]}]}]}]",
		"many quoted values":   "rules: [{name: a, tag: b, matches: [{headers: [{name: A, values: [" + strings.Repeat("'',", 1_000_000) + "]}]}]}]",
		"empty rows":           strings.Repeat("\n", most) + "x",
		"comments":             strings.Repeat("#\n", most/2) + "x: [",
		"one long comment":     "x: [ #" + strings.Repeat("#", most),
		"documents":            strings.Repeat("---\n", most/4),
		"directives":           strings.Repeat("%A\n", most/3),
		"anchors":              "rules: [" + numbered("&a%d x,", 100_000) + "]",
		"aliases of nothing":   "rules: [" + numbered("*a%d,", 100_000) + "]",
		"tags":                 "rules: [" + strings.Repeat("!a ", most/3) + "]",
		"quotes":               "rules: " + strings.Repeat("'", most),
		"spaces":               "rules:" + strings.Repeat(" ", most) + "[",
		"tabs":                 "rules:" + strings.Repeat("\t", most) + "[",
	} {
		t.Run(name, func(t *testing.T) {
			refused := make(chan error, 1)
			go func() {
				_, err := Parse("policy.yaml", []byte(version+text))
				refused <- err
			}()
			select {
			case err := <-refused:
				wantPlaces(t, err)
			case <-time.After(patience): // under the race detector most take less than a second
				t.Fatalf("not refused after %v", patience)
			}
		})
	}
}

// wantPlaces wants faults that people can find and read.
func wantPlaces(t *testing.T, err error) {
	t.Helper()
	faults, ok := errors.AsType[Faults](err)
	if !ok || len(faults) == 0 {
		t.Fatalf("error %v, want faults", err)
	}
	if f := faults[0]; f.Line == 0 && !strings.Contains(f.What, "want at most") {
		t.Errorf("no place: %.300s", f.Error())
	}
	if text := faults[0].Error(); len(text) > 600 {
		t.Errorf("a fault of %d bytes: %.300s", len(text), text)
	}
}

// deepRows is a mapping of that many levels, a row each.
func deepRows(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}
