package policy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestADictKnowsWhoNamesAValue(t *testing.T) {
	d := newDict(6)
	for cond, values := range [][]string{{"a", "b", "a"}, {"b", "c"}, {"b"}} {
		for _, v := range values {
			d.add([]byte(v), uint32(cond))
		}
	}
	d.seal()
	for value, want := range map[string]string{"a": "0", "b": "0 1 2", "c": "1", "d": "", "": "", "ab": ""} {
		var got []string
		for cond := range uint32(3) {
			if d.names([]byte(value), cond) {
				got = append(got, fmt.Sprint(cond))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("value %q is named by %v, want %s", value, got, want)
		}
	}
}

func TestADictFindsAllOfManyValues(t *testing.T) {
	const values = 50_000
	d := newDict(values)
	for i := range values {
		d.add(fmt.Appendf(nil, "v%d", i), uint32(i%7/2))
	}
	for i := range values {
		if !d.names(fmt.Appendf(nil, "v%d", i), uint32(i%7/2)) {
			t.Fatalf("value v%d is lost", i)
		}
		if d.find(fmt.Appendf(nil, "w%d", i)) != 0 {
			t.Fatalf("value w%d was found", i)
		}
	}
}

func TestANilDictNamesNothing(t *testing.T) {
	var d *dict
	if d.find([]byte("a")) != 0 || d.names([]byte("a"), 0) {
		t.Error("a dict that is not there names a value")
	}
}

func TestAListTakesUnder64BytesAnEntry(t *testing.T) {
	const entries = 100_000
	dir := t.TempDir()
	var list strings.Builder
	for i := range uint64(entries) {
		fmt.Fprintf(&list, "%016x-%016x-00\n", mix(i), mix(i+entries)) // as long as a UUID
	}
	path := filepath.Join(dir, "policy.yaml")
	writeText(t, filepath.Join(dir, "users.txt"), list.String())
	writeText(t, path, listing("users.txt"))
	if got := heldBy(t, path) / entries; got >= 64 {
		t.Errorf("%.1f bytes an entry, want under 64", got)
	}
}
