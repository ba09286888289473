package http2

import (
	"net/http"
	"testing"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// saying is the address of an app that says of itself that it is leaving.
func saying(t *testing.T) string {
	t.Helper()
	return addrOf(origin(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(leavingHeader, "1") }))
}

func TestASidecarThatDrainsSaysThatItLeaves(t *testing.T) {
	app := addrOf(origin(t, func(http.ResponseWriter, *http.Request) {}))
	for name, tt := range map[string]struct {
		app                  string
		drain, sidecar, want bool
	}{
		"it drains":                  {app: app, drain: true, sidecar: true, want: true},
		"it does not":                {app: app, sidecar: true},
		"what drains is no endpoint": {app: app, drain: true},
		"its app says it":            {app: saying(t), sidecar: true},
	} {
		t.Run(name, func(t *testing.T) {
			callee, at := serve(t, http1.Config{Sidecars: true, CloseOnDrain: true}, passing(NewOrigin(tt.app, http1.OriginConfig{})))
			if tt.drain {
				callee.Drain()
			}
			cfg := http1.OriginConfig{Sidecar: tt.sidecar}
			o := NewOrigin(at, cfg)
			bridge := http1.NewOrigin(at, o.HTTP1Config(cfg))
			leaving := make(chan bool, 1)
			_, addr := serve(t, http1.Config{Sidecars: true}, handlerFunc(func(x *Exchange) {
				if err := x.Send(o); err != nil {
					x.Fail(err)
				}
				leaving <- x.Leaving()
			}))
			resp, _ := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil))
			if got := <-leaving; got != tt.want {
				t.Errorf("leaving: got %v, want %v", got, tt.want)
			}
			if got := resp.Header[leavingHeader]; got != nil {
				t.Errorf("the one before it was told %q, want nothing, since it stays", got)
			}
			addr = serveHTTP1(t, func(x *http1.Exchange) {
				if err := x.Send(bridge); err != nil {
					x.Fail(err)
				}
				leaving <- x.Leaving()
			})
			resp = say(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			if got := <-leaving; got != tt.want {
				t.Errorf("by the bridge: leaving: got %v, want %v", got, tt.want)
			}
			if resp.Header[leavingHeader] != nil || resp.Header["Connection"] != nil {
				t.Errorf("the caller of the bridge was told %v, want nothing", resp.Header)
			}
		})
	}
}

func TestOfTwoOriginsTheOneThatLeavesIsKnown(t *testing.T) {
	nobody := harness.FreeAddress(t)
	drained, at := serve(t, http1.Config{Sidecars: true, CloseOnDrain: true}, passing(NewOrigin(nobody, http1.OriginConfig{})))
	drained.Drain()
	leaving := make(chan bool, 2)
	_, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
		for _, to := range []string{at, nobody} {
			if err := x.Send(NewOrigin(to, http1.OriginConfig{Sidecar: true})); err == nil {
				t.Errorf("%s has served it, want nobody to", to)
			}
			leaving <- x.Leaving()
		}
	}))
	do(t, request(t, http.MethodGet, "http://"+addr+"/", nil))
	if first, second := <-leaving, <-leaving; !first || second {
		t.Errorf("leaving: got %v and %v, want true and false", first, second)
	}
}
