package http2

import (
	"fmt"
	"net/http"
	"testing"
)

func TestEachLineThatIsSetIsByItself(t *testing.T) {
	const lines = 20 // more than a Request has room for
	r := &Request{http: &http.Request{Header: http.Header{}}}
	for n := range lines {
		r.Set(fmt.Sprint("X-", n), fmt.Append(nil, n))
	}
	for n := range lines {
		r.http.Header.Add(fmt.Sprint("X-", n), "another")
	}
	for n := range lines {
		if got := r.http.Header[fmt.Sprint("X-", n)]; len(got) != 2 || got[0] != fmt.Sprint(n) || got[1] != "another" {
			t.Errorf("line %d: got %q, want its own and another", n, got)
		}
	}
}
