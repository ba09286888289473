package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"graylane/test/harness"
)

// appEnv holds the JSON of an app's settings; where it is set, the test binary is that app.
const appEnv = "GRAYLANE_E2E_APP"

// app is a service as its developers wrote it: it knows nothing of tags.
// It answers with what it received, and with what the next service answered.
//
// The query of a request steers it and goes on to the next service:
//
//	forward=A,B   hand on these headers in place of Forward
//	own=b3        hand on this header with an id of its own where none came, as a tracing library does
//	pair=NAME     wait until a second request with this name is here
//	gate=NAME     wait until POST /open?gate=NAME
//
// at=SERVICE limits pair and gate to one service.
type app struct {
	Service, Tag string
	Pod          string
	Listen       string
	Next         string   // the service to call; none: the chain ends here
	Proxy        string   // outbound address of the sidecar beside it
	Forward      []string // headers handed on to the next service
	Fresh        bool     // call the next service on a new connection each time
	Strays       string   // file that notes each request with another tag; none: it is not noted

	client   *http.Client
	requests atomic.Int64
	manners  manners
	mu       sync.Mutex
	gates    map[string]chan struct{}
	waiting  map[string]int
}

// hop is an app's answer: what it is, what it got, and the answer of the service behind it.
type hop struct {
	Service, Tag, Pod string
	Target            string // path and query as they arrived
	Header            http.Header
	Next              *hop   `json:",omitempty"`
	Failed            string `json:",omitempty"` // why the call to the next service gave no answer
}

// runApp serves until the process is killed.
func runApp(spec string) error {
	a := &app{gates: map[string]chan struct{}{}, waiting: map[string]int{}}
	if err := json.Unmarshal([]byte(spec), a); err != nil {
		return fmt.Errorf("%s: %w", appEnv, err)
	}
	a.client = proxied(a.Proxy)
	a.client.Transport.(*http.Transport).DisableKeepAlives = a.Fresh
	mux := http.NewServeMux()
	mux.HandleFunc("/", a.serve)
	mux.HandleFunc("GET /requests", a.count)
	mux.HandleFunc("GET /waiting", a.countWaiting)
	mux.HandleFunc("POST /open", a.open)
	mux.HandleFunc("GET /health", a.health)
	mux.HandleFunc("POST /behave", a.behave)
	return http.ListenAndServe(a.Listen, mux)
}

// proxied is a client that sends everything through an explicit proxy.
func proxied(proxy string) *http.Client {
	return &http.Client{Timeout: harness.Patience, Transport: &http.Transport{
		Proxy:               http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}),
		MaxIdleConnsPerHost: 64,
	}}
}

func (a *app) serve(w http.ResponseWriter, r *http.Request) {
	a.requests.Add(1)
	if a.misbehaves(w, r) {
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.hold(r)
	answer := hop{Service: a.Service, Tag: a.Tag, Pod: a.Pod, Target: r.RequestURI, Header: r.Header}
	status := http.StatusOK
	if a.Next != "" {
		var err error
		if answer.Next, err = a.call(r); err != nil {
			answer.Failed, status = err.Error(), http.StatusBadGateway
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the caller may have left
}

// call asks the next service, with nothing of r but its query and the headers to hand on.
func (a *app) call(r *http.Request) (*hop, error) {
	out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+a.Next+"/?"+r.URL.RawQuery, nil)
	if err != nil {
		return nil, err
	}
	forward := a.Forward
	if list := r.URL.Query().Get("forward"); list != "" {
		forward = strings.Split(list, ",")
	}
	for _, name := range forward {
		if values := r.Header.Values(name); len(values) > 0 {
			out.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if name := r.URL.Query().Get("own"); name != "" && out.Header.Get(name) == "" {
		out.Header.Set(name, traceValue(name, randomID()))
	}
	return ask(a.client, out)
}

// hold keeps a request here as its query says; a request that nobody releases goes on after patience.
func (a *app) hold(r *http.Request) {
	query := r.URL.Query()
	if at := query.Get("at"); at != "" && at != a.Service {
		return
	}
	if name := query.Get("gate"); name != "" {
		a.wait("gate "+name, 0)
	}
	if name := query.Get("pair"); name != "" {
		a.wait("pair "+name, 2)
	}
}

// wait returns when the named gate opens; the request that makes it full opens it. 0: only open does.
func (a *app) wait(name string, full int) {
	gate := a.gate(name)
	a.mu.Lock()
	a.waiting[name]++
	if a.waiting[name] == full {
		close(gate)
	}
	a.mu.Unlock()
	select {
	case <-gate:
	case <-time.After(harness.Patience):
	}
}

func (a *app) gate(name string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gates[name] == nil {
		a.gates[name] = make(chan struct{})
	}
	return a.gates[name]
}

func (a *app) open(_ http.ResponseWriter, r *http.Request) {
	close(a.gate("gate " + r.URL.Query().Get("gate")))
}

func (a *app) count(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, a.requests.Load())
}

func (a *app) countWaiting(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprint(w, strconv.Itoa(a.waiting["gate "+r.URL.Query().Get("gate")]))
}
