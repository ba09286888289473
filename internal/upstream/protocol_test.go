package upstream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"graylane/internal/http1"
	"graylane/internal/upstream"
)

// Whoever says it, a policy or a source: what an endpoint is sent from then on is in
// the protocol that it was last said to speak.
func TestTheProtocolOfAnEndpointMayChange(t *testing.T) {
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	app.Config.Protocols = protocols(true, true)
	app.Start()
	t.Cleanup(app.Close)
	address := app.Listener.Addr().String()
	host, _, _ := strings.Cut(address, ":")
	table := upstream.NewTable(http1.OriginConfig{})
	var group atomic.Pointer[upstream.Group]
	policy := func(protocol string, targets ...upstream.Target) {
		next := table.Begin()
		group.Store(next.Group(upstream.Version{Service: "users", Tag: "base", Targets: targets, Protocol: protocol}))
		next.Commit()
	}
	at := both(t, handlerFunc(func(x upstream.Exchange) { sendTo{group.Load()}.Serve(x) }))
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"a policy that says nothing", func() { policy("", upstream.Target{Address: address}) }, "HTTP/1.1"},
		{"h2c for the version", func() { policy("h2c", upstream.Target{Address: address}) }, "HTTP/2.0"},
		{"HTTP/1 for the endpoint", func() { policy("h2c", upstream.Target{Address: address, Protocol: "http1"}) }, "HTTP/1.1"},
		{"h2c for the endpoint", func() { policy("", upstream.Target{Address: address, Protocol: "h2c"}) }, "HTTP/2.0"},
		{"a source that says nothing", func() { group.Load().Set([]upstream.Target{{Address: address}}) }, "HTTP/1.1"},
		{"a source that says h2c", func() { group.Load().Set([]upstream.Target{{Address: address, Protocol: "h2c"}}) }, "HTTP/2.0"},
		{"one without a port", func() { group.Load().Set([]upstream.Target{{Address: host, Protocol: "h2c"}}) }, "HTTP/2.0"},
		{"one without a port, of HTTP/1", func() { group.Load().Set([]upstream.Target{{Address: host}}) }, "HTTP/1.1"},
	} {
		step.do()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = address
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(got) != step.want {
			t.Errorf("%s: got %q, %v, want %s", step.name, got, err, step.want)
		}
		shown := map[string]string{"HTTP/1.1": "http1", "HTTP/2.0": "h2c"}[step.want]
		if list := table.Status(); len(list) != 1 || list[0].Protocol != shown {
			t.Errorf("%s: shown as %+v, want %s", step.name, list, shown)
		}
	}
}

type handlerFunc func(x upstream.Exchange)

func (f handlerFunc) Serve(x upstream.Exchange) { f(x) }
