package admin

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
)

// route is one path and the one method that it takes; GET takes HEAD as well.
type route struct {
	method, path string
	about        string // for the index
	handler      http.Handler
}

// newMux serves the routes. Another method of a route's path is 405 with Allow,
// another path is 404 with one line.
func newMux(routes []route, lost string) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.path, r)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, lost)
	})
	return mux
}

// ServeHTTP is part of http.Handler.
func (r route) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == r.method || r.method == http.MethodGet && req.Method == http.MethodHead {
		r.handler.ServeHTTP(w, req)
		return
	}
	allow := r.method
	if allow == http.MethodGet {
		allow = "GET, HEAD"
	}
	w.Header().Set("Allow", allow)
	answer(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s takes %s", r.path, allow))
}

// answer writes one line of plain text, or several.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A caller that has gone is none of our business.
	_, _ = io.WriteString(w, strings.TrimSuffix(text, "\n")+"\n")
}

// aligned puts the cells of the lines, which tabs separate, into columns.
func aligned(lines []string) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(table, line)
	}
	_ = table.Flush() // a strings.Builder takes everything
	return text.String()
}
