package http2

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"graylane/internal/http1"
)

// Where the caller was going to the endpoint itself, as to its proxy, the target is passed on
// as it is.
func TestNoTargetOfHTTP2NamesAHost(t *testing.T) {
	addr := addrOf(origin(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, " ", r.RequestURI) }))
	for _, tt := range []struct{ method, target, want string }{
		{"GET", "/a://b", "users /a://b"},
		{"GET", "http://users/a?b", "users /a?b"},
		{"GET", "http://users:80//a", "users:80 //a"},
		{"GET", "http://me:secret@users/a", "users /a"},
		{"GET", "http://users", "users /"},
		{"GET", "http://users?a", "users /?a"},
		{"OPTIONS", "http://users", "users *"},
		{"OPTIONS", "*", "users *"},
	} {
		near, err := NewOrigin(addr, http1.OriginConfig{}).DialHTTP1(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		host, _, _ := strings.Cut(tt.want, " ")
		_, _ = fmt.Fprintf(near, "%s %s HTTP/1.1\r\nHost: %s\r\n\r\n", tt.method, tt.target, host)
		resp, err := http.ReadResponse(bufio.NewReader(near), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, resp); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.method, tt.target, got, tt.want)
		}
		near.Close()
	}
}
