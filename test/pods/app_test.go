package pods

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"graylane/test/harness"
)

// appVariable makes this test's binary an app: it holds the app's arguments.
const appVariable = "GRAYLANE_PODS_APP"

func appArgs() []string { return strings.Fields(os.Getenv(appVariable)) }

// app is a service as its developers wrote it: it knows names and ports, and of no proxy.
type app struct {
	name   string // "orders-gray"
	next   string // host and port of the service that it calls; none: the chain ends here
	client *http.Client
}

// startApp starts one in a pod, and waits until it serves.
func startApp(t *testing.T, p *Pod, args ...string) {
	t.Helper()
	cmd := exec.Command(self(t))
	cmd.Env = append(cmd.Environ(), appVariable+"="+strings.Join(args, " "))
	p.Launch(t, p.Name, AppUser, cmd)
	harness.WaitFor(t, p.Name+"'s app serves", func() bool {
		status, _ := Get(t, p.cluster.Client, 0, "http://"+p.Addr+":8080/headers")
		return status == http.StatusOK
	})
}

// self is a copy of this test's binary that other users may run: go test keeps it in a folder of ours alone.
func self(t *testing.T) string {
	t.Helper()
	path := harness.Scratch("app")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	own, err := os.Executable()
	harness.Must(t, err)
	text, err := os.ReadFile(own)
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(path, text, 0o755))
	return path
}

// runApp serves one app until the process is killed.
func runApp(args []string) {
	a := &app{}
	var listen, resolve string
	flags := flag.NewFlagSet("app", flag.ExitOnError)
	flags.StringVar(&a.name, "name", "", "what it answers with")
	flags.StringVar(&a.next, "next", "", "host and port of the service to call")
	flags.StringVar(&listen, "listen", ":8080", "address to serve at")
	flags.StringVar(&resolve, "resolve", "", "what a DNS would say: name=address, name=address")
	if err := flags.Parse(args); err != nil {
		os.Exit(2)
	}
	hosts := map[string]string{}
	for _, entry := range strings.Split(resolve, ",") {
		name, addr, _ := strings.Cut(entry, "=")
		hosts[name] = addr
	}
	var dialer net.Dialer
	a.client = &http.Client{Timeout: harness.Patience, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			if known, ok := hosts[host]; ok {
				host = known
			}
			return dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
		},
	}}
	fmt.Fprintln(os.Stderr, http.ListenAndServe(listen, a))
	os.Exit(1)
}

// ServeHTTP answers with the app's name and what the next one says. /headers answers with what came in; /call makes the
// call that its query names: ?url=.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/headers":
		fmt.Fprintf(w, "%s %s %s\n", r.Method, r.URL, r.Host)
		_ = r.Header.Write(w) // fails if the caller has gone
	case r.URL.Path == "/call":
		a.answer(w, r, "", r.FormValue("url"))
	case a.next == "":
		fmt.Fprint(w, a.name)
	default:
		a.answer(w, r, a.name+" -> ", "http://"+a.next+r.URL.Path)
	}
}

// answer calls on. The one thing that the app hands on is the trace.
func (a *app) answer(w http.ResponseWriter, r *http.Request, before, url string) {
	out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if trace := r.Header.Get("traceparent"); trace != "" {
		out.Header.Set("traceparent", trace)
	}
	resp, err := a.client.Do(out)
	if err != nil {
		http.Error(w, a.name+": "+err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.WriteHeader(resp.StatusCode)
	fmt.Fprint(w, before)
	_, _ = io.Copy(w, resp.Body) // fails if the caller has gone
}
