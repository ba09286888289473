package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"graylane/test/harness"
)

// What a page says of how its caller came.
const (
	marked = "through the sidecar"
	plain  = "past the sidecar" // or inside TLS
	failed = ""                 // the host has no address: only the sidecar knows it
)

// world is a sidecar, an app that says how its callers came, and the same app behind TLS.
type world struct {
	*harness.Sidecar
	app, secure string // URLs
}

func newWorld(t *testing.T) *world {
	t.Helper()
	say := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Gray") != "" {
			fmt.Fprint(w, marked)
			return
		}
		fmt.Fprint(w, plain)
	})
	app, secure := httptest.NewServer(say), httptest.NewTLSServer(say)
	t.Cleanup(app.Close)
	t.Cleanup(secure.Close)
	policy := harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml"))
	address := app.Listener.Addr().String()
	policy.Write(t, fmt.Sprintf("apiVersion: graylane.dev/v1\nservices: [{name: users, hosts: [users, %q], versions: [{tag: base, endpoints: [%[1]q]}]}]\n", address))
	return &world{harness.StartSidecar(t, "sidecar", string(policy)).WaitReady(t), app.URL + "/", secure.URL + "/"}
}

// client is a program that prints the page at the URL that is its last argument.
type client struct {
	name string
	argv []string
	env  []string
}

const users = "http://users/"

func curl(flags ...string) client {
	return client{name: "curl", argv: append([]string{"curl", "-sSk"}, flags...)}
}

func golang() client { return client{"Go", []string{os.Args[0]}, []string{goClient + "=1"}} }

func requests() client {
	return client{name: "requests", argv: []string{"python3", "-c", "import sys, requests; print(requests.get(sys.argv[1], verify=False).text)"}}
}

func urllib() client {
	return client{name: "urllib", argv: []string{"python3", "-c", "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"}}
}

func nodeGet(env ...string) client {
	return client{"http.get", []string{"node", "-e", "require('http').get(process.argv[1], r => r.pipe(process.stdout))"}, env}
}

func nodeFetch(env ...string) client {
	return client{"fetch", []string{"node", "-e", "fetch(process.argv[1]).then(r => r.text()).then(console.log)"}, env}
}

// undici is what Node's fetch is made of, as apps use it that give it a proxy themselves. It asks
// for a tunnel by http:// too. Debian puts it where other builds of Node do not look.
func undici() client {
	return client{"undici", []string{"node", "-e", "const {fetch, ProxyAgent} = require('undici');" +
		"fetch(process.argv[1], {dispatcher: new ProxyAgent(process.env.http_proxy)}).then(r => r.text()).then(console.log)"},
		[]string{"NODE_PATH=/usr/share/nodejs"}}
}

// java runs a file of testdata; Java compiles it first.
func java(file string, flags ...string) client {
	return client{name: file, argv: slices.Concat([]string{"java"}, flags, []string{filepath.Join("testdata", file)})}
}

// run gives what the client says, "" if it fails.
func (c client) run(t *testing.T, url string, env ...string) string {
	t.Helper()
	cmd := exec.Command(c.argv[0], append(c.argv[1:], url)...)
	cmd.Env = slices.Concat(withoutProxies(), c.env, env)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatalf("%s cannot be run: %v", c.name, err)
	}
	return strings.TrimSpace(string(out))
}

// withoutProxies is the environment but for what brings clients to other proxies.
func withoutProxies() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(strings.ToLower(entry), "=")
		return strings.HasSuffix(name, "_proxy") || name == "java_tool_options"
	})
}

// readmeFlags are the flags for Java as README gives them, for the sidecar of w.
func (w *world) readmeFlags(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Repository, "README.md"))
	harness.Must(t, err)
	flags := regexp.MustCompile("`(-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=)15001`").FindSubmatch(text)
	if flags == nil {
		t.Fatal("README gives no flags for Java")
	}
	_, port, _ := strings.Cut(w.Outbound, ":")
	return strings.Fields(string(flags[1]) + port)
}

func TestClientsComeThroughTheSidecarAsReadmeSays(t *testing.T) {
	w := newWorld(t)
	proxy := "http://" + w.Outbound
	upper, lower := "HTTP_PROXY="+proxy, "http_proxy="+proxy
	flags := w.readmeFlags(t)
	but := func(hosts string) []string { return append(flags[:2:2], "-Dhttp.nonProxyHosts="+hosts) }
	options := "JAVA_TOOL_OPTIONS=" + strings.Join(flags, " ")
	const obeying = "NODE_USE_ENV_PROXY=1"

	type row struct {
		client client
		env    []string
		url    string
		want   string
	}
	rows := []row{
		{curl(), []string{upper}, users, failed},
		{curl(), []string{lower}, users, marked},
		{curl(), []string{lower}, w.app, marked},
		{curl(), []string{lower, "NO_PROXY=127.0.0.1"}, w.app, plain},
		{curl(), []string{lower, "no_proxy=127.0.0.1"}, w.app, plain},
		{golang(), []string{upper}, users, marked},
		{golang(), []string{lower}, users, marked},
		{golang(), []string{upper, lower}, w.app, plain},
		{golang(), []string{upper, "NO_PROXY=users"}, users, failed},
		{golang(), []string{upper, "no_proxy=users"}, users, failed},
		{nodeGet(), []string{upper, lower}, users, failed},
		{nodeFetch(), []string{upper, lower}, users, failed},
		{undici(), []string{lower}, users, marked},
		{undici(), []string{lower}, w.app, marked},
	}
	for _, python := range []client{requests(), urllib()} {
		rows = append(rows,
			row{python, []string{upper}, users, marked},
			row{python, []string{lower}, users, marked},
			row{python, []string{lower}, w.app, marked},
			row{python, []string{upper, "NO_PROXY=127.0.0.1"}, w.app, plain},
			row{python, []string{lower, "no_proxy=127.0.0.1"}, w.app, plain},
		)
	}
	for _, file := range []string{"Client.java", "Connection.java"} {
		rows = append(rows,
			row{java(file), []string{upper, lower}, users, failed},
			row{java(file, flags...), nil, users, marked},
			row{java(file), []string{options}, users, marked},
			row{java(file, flags...), nil, w.app, plain},
			row{java(file, but("")...), nil, w.app, marked},
			row{java(file, but("users|*.local")...), nil, users, failed},
		)
	}
	if exec.Command("node", "--use-env-proxy", "-e", "0").Run() == nil { // Node 24, and late releases of Node 22
		rows = append(rows,
			row{nodeGet(obeying), []string{upper}, users, marked},
			row{nodeGet(obeying), []string{lower}, users, marked},
			row{nodeGet(obeying), []string{lower}, w.app, marked},
			row{nodeGet(obeying), []string{lower, "NO_PROXY=127.0.0.1"}, w.app, plain},
			row{nodeFetch(obeying), []string{upper}, users, marked},
			row{nodeFetch(obeying), []string{lower}, users, marked},
			row{nodeFetch(obeying), []string{lower}, w.app, marked},
			row{nodeFetch(obeying), []string{lower, "NO_PROXY=127.0.0.1"}, w.app, plain},
		)
	}
	for _, r := range rows {
		t.Run(r.client.name, func(t *testing.T) {
			if got := r.client.run(t, r.url, r.env...); got != r.want {
				t.Errorf("%v %s %v: got %q, want %q", r.client.argv, r.url, r.env, got, r.want)
			}
		})
	}
}

func TestAnyClientMayCallTheSidecarByItsAddress(t *testing.T) {
	w := newWorld(t)
	if got := curl("-H", "Host: users").run(t, "http://"+w.Outbound+"/"); got != marked {
		t.Errorf("got %q, want %q", got, marked)
	}
}

func TestHTTPSComesThroughATunnel(t *testing.T) {
	w := newWorld(t)
	proxy := "http://" + w.Outbound
	tunnels := 0.0
	for _, c := range []client{curl(), requests()} {
		for _, name := range []string{"HTTPS_PROXY=", "https_proxy="} {
			tunnels++
			if got := c.run(t, w.secure, name+proxy); got != plain {
				t.Errorf("%s with %s: got %q, want %q", c.name, name, got, plain)
			}
			harness.WaitFor(t, "the tunnel is counted", func() bool {
				return w.Metric(t, "graylane_requests_total", `reason="pass_through"`) == tunnels
			})
		}
	}
}
