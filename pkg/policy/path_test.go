package policy

import (
	"bytes"
	"strings"
	"testing"
)

func TestNormalPath(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "": "", "*": "*", "/a": "/a", "/a/": "/a/", "/a/b": "/a/b",
		"//": "/", "///a///b//": "/a/b/", "/./a": "/a", "/a/.": "/a/", "/a/./": "/a/", "/a/b/..": "/a/", "/a/b/../": "/a/",
		"/..": "/", "/../..": "/", "/../a": "/a", "/a/../..": "/", "/a/../../b": "/b", "/.a": "/.a", "/a.": "/a.", "/...": "/...", "/..a": "/..a",
		"/%61": "/a", "/%2e%2e/a": "/a", "/a%2Fb": "/a/b", "/a%2f%2e%2e%2fb": "/b", "/%2561": "/%61", "/%": "/%", "/%4": "/%4", "/%zz": "/%zz",
		"/a;v=1": "/a;v=1", "/a%20b": "/a b", "/a+b": "/a+b", "/\xc3\xa9": "/\xc3\xa9", "/%00": "/\x00", "/a\\b": "/a/b", "/a%5C..%5cb": "/b", "\\": "\\",
		"/a/..;/b": "/b", "/a/..;x=1/b": "/b", "/a/.;x/b": "/a/b", "/a/..%3bx": "/", "/a/;/b": "/a/;/b", "/..;": "/", "/...;/a": "/...;/a",
	} {
		if got := string(normalPath(nil, []byte(path))); got != want {
			t.Errorf("path %q is normalised to %q, want %q", path, got, want)
		}
	}
}

func TestNormalPathAppends(t *testing.T) {
	if got := string(normalPath([]byte("/x"), []byte("/../a"))); got != "/x/a" {
		t.Errorf("got %q, want what was there and the path", got)
	}
}

func FuzzNormalPath(f *testing.F) {
	for _, path := range []string{"/a/../b", "/%2e%2e/", "//a//.", "/%252e", "*", "/a%2", "/a/..;x", "/a\\..\\b"} {
		f.Add([]byte(path))
	}
	f.Fuzz(func(t *testing.T, path []byte) {
		normal := normalPath(nil, path)
		if len(normal) > len(path) {
			t.Fatalf("path %q grows to %q", path, normal)
		}
		if isNormal(path) && !bytes.Equal(normal, path) {
			t.Fatalf("path %q passes as normal, and is normalised to %q", path, normal)
		}
		if len(path) == 0 || path[0] != '/' {
			return
		}
		for segment := range strings.SplitSeq(strings.TrimSuffix(string(normal[1:]), "/"), "/") {
			if segment == "." || segment == ".." || segment == "" && len(normal) > 1 {
				t.Fatalf("path %q is normalised to %q", path, normal)
			}
		}
	})
}
