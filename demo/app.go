package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// app is a service as its developers wrote it: it answers with its name, and with the answer of the next service.
// Two paths make it behave otherwise, at every hop: /headers answers with what came in, /forget hands on no header.
// /hog takes memory until a limit ends the process, to see what becomes of its requests.
type app struct {
	name   string // "orders-gray"
	next   string // the service it calls; none: the chain ends here
	client *http.Client
}

// runApp serves one app until the process ends.
func runApp(args []string) error {
	a := &app{}
	var listen, proxy string
	flags := flag.NewFlagSet("demo app", flag.ContinueOnError)
	flags.StringVar(&a.name, "name", "", "what it answers with")
	flags.StringVar(&a.next, "next", "", "the service to call")
	flags.StringVar(&listen, "listen", "", "address to serve at")
	flags.StringVar(&proxy, "proxy", "", "address of the sidecar that its calls go through; none: as HTTP_PROXY says")
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	a.client = newClient(http.ProxyFromEnvironment)
	if proxy != "" {
		a.client = proxyClient(proxy)
	}
	return serveUntilTold(&http.Server{Addr: listen, Handler: a})
}

// serveUntilTold serves until SIGTERM, and finishes what has come by then.
func serveUntilTold(server *http.Server) error {
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	finished := make(chan error, 1)
	context.AfterFunc(told, func() { finished <- server.Shutdown(context.Background()) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-finished
}

// proxyClient sends everything through an HTTP proxy, as HTTP_PROXY makes most clients do.
func proxyClient(proxy string) *http.Client {
	return newClient(http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}))
}

func newClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	return &http.Client{
		Timeout: 10 * time.Second, // far above what a loaded machine needs
		Transport: &http.Transport{
			Proxy:               proxy,
			MaxIdleConnsPerHost: 32, // the default of 2 opens a connection for nearly every call under load
		},
	}
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, join := a.name, " -> "
	switch r.URL.Path {
	case "/headers":
		text, join = a.describe(r), "\n"
	case "/hog":
		hog()
	}
	if a.next == "" {
		fmt.Fprintln(w, text)
		return
	}
	answer, err := a.call(r)
	if err != nil {
		http.Error(w, fmt.Sprintf("%s%s%v", text, join, err), http.StatusBadGateway)
		return
	}
	fmt.Fprint(w, text, join, answer)
}

// call asks the next service. The one thing it hands on is the trace.
func (a *app) call(r *http.Request) (string, error) {
	out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+a.next+r.URL.Path, nil)
	if err != nil {
		return "", err
	}
	if trace := r.Header.Get("traceparent"); trace != "" && r.URL.Path != "/forget" {
		out.Header.Set("traceparent", trace)
	}
	return fetch(a.client, out)
}

func (a *app) describe(r *http.Request) string {
	lines := []string{a.name}
	for _, name := range []string{"X-Gray", "traceparent", "X-Request-Id", "baggage", "tracestate"} {
		lines = append(lines, fmt.Sprintf("  %s: %s", name, r.Header.Get(name)))
	}
	return strings.Join(lines, "\n")
}

// hog takes half a gigabyte and gives it back.
func hog() {
	var taken [][]byte
	for range 512 {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += os.Getpagesize() {
			block[i] = 1 // memory that nobody has written to is not there yet
		}
		taken = append(taken, block)
	}
	runtime.KeepAlive(taken)
}

// fetch gives the body of a reply; any status but 200 is an error.
func fetch(client *http.Client, r *http.Request) (string, error) {
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("read the reply of %s: %w", r.URL, err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: status %d: %s", r.URL, resp.StatusCode, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}
