package policy

import (
	"bytes"
	"strings"
	"testing"
)

func TestCookie(t *testing.T) {
	for _, test := range []struct{ header, want string }{
		{"gray=1", "1"}, {"a=b; gray=1", "1"}, {"a=b;gray=1;c=d", "1"}, {" \tgray = 1\t; c=d", "1"},
		{`gray="1"`, "1"}, {`gray="`, `"`}, {"gray=", ""}, {"gray==", "="}, {"gray=1; gray=2", "1"},
		{"a=gray; gray=1", "1"}, {"gray; gray=1", "1"}, {"xgray=2; gray=1", "1"}, {"gray2=2; gray=1", "1"},
		{"a=;gray=1", "1"}, {"graygray=2; gray=1", "1"},
		{"", "none"}, {"gray", "none"}, {"GRAY=1", "none"}, {"a=gray=1", "none"}, {"a gray=1", "none"}, {"a=b,gray=1", "none"},
	} {
		got := "none"
		if value, ok := cookie([]byte(test.header), []byte("gray")); ok {
			got = string(value)
		}
		if got != test.want {
			t.Errorf("cookie gray of %q is %q, want %q", test.header, got, test.want)
		}
	}
}

// FuzzPairs holds that what is found by looking for the name is what taking
// everything apart finds.
func FuzzPairs(f *testing.F) {
	for _, seed := range []string{"a=1; gray=2", "gray=1&b", "%67ray=1&gray", "gr+ay=%31", ";;gray ;gray=\"x\"", "a==gray=;gray", "gra\tgray=1"} {
		f.Add([]byte(seed), "gray")
		f.Add([]byte(seed), "a")
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		if isToken(name) {
			got, ok := cookie(text, []byte(name))
			if want, has := cookieApart(text, name); ok != has || string(got) != want {
				t.Errorf("cookie %q of %q is %q, %v, want %q, %v", name, text, got, ok, want, has)
			}
		}
		if name != "" {
			got, ok := queryParam(text, name)
			if want, has := paramApart(text, name); ok != has || string(got) != want {
				t.Errorf("parameter %q of %q is %q, %v, want %q, %v", name, text, got, ok, want, has)
			}
		}
	})
}

func cookieApart(header []byte, name string) (value string, ok bool) {
	for pair := range strings.SplitSeq(string(header), ";") {
		key, value, found := strings.Cut(pair, "=")
		if found && strings.Trim(key, " \t") == name {
			value = strings.Trim(value, " \t")
			if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			return value, true
		}
	}
	return "", false
}

func paramApart(query []byte, name string) (raw string, ok bool) {
	if len(query) == 0 {
		return "", false
	}
	for pair := range bytes.SplitSeq(query, []byte("&")) {
		key, value, _ := bytes.Cut(pair, []byte("="))
		if string(unescapeParam(nil, key)) == name {
			return string(value), true
		}
	}
	return "", false
}
