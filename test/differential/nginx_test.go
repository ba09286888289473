package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

const nginxConfig = `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  types { text/html html; text/css css; }
  default_type application/octet-stream;
  sendfile on;
  server {
    listen %s;
    root files;
    client_max_body_size 1m;
    lingering_timeout 200ms;
    location / {}
    location /list/ { autoindex on; }
    location /gzip/ { alias files/; gzip on; gzip_types *; gzip_min_length 1; }
    location = /many { add_header X-A 1; add_header x-a 2; add_header Set-Cookie "a=1; Path=/"; add_header Set-Cookie b=2; add_header X-Empty ""; return 200 "text\n"; }
    location = /none { return 204; }
    location = /moved { return 301 /elsewhere?x=%%20y; }
    location = /absolute { return 302 https://elsewhere.example/p; }
    location = /gone { return 410; }
    location = /silent { return 444; }
    location = /teapot { return 418 "short and stout"; }
    location = /told { return 200 "$request_method $request_uri $http_host $content_length $http_x_a $http_cookie $args"; }
  }
}
`

// startNginx runs Debian's nginx on files of a few sizes.
func startNginx(t *testing.T) (address string) {
	t.Helper()
	dir, address := t.TempDir(), harness.FreeAddress(t)
	harness.Must(t, os.MkdirAll(filepath.Join(dir, "files", "list"), 0o755))
	for name, size := range map[string]int{"empty.html": 0, "one": 1, "page.html": 1 << 10, "style.css": 64 << 10, "large": 3 << 20, "list/a b.html": 5} {
		harness.WriteFile(t, filepath.Join(dir, "files", name), strings.Repeat("0123456789abcdef", size/16+1)[:size])
		harness.Must(t, os.Chtimes(filepath.Join(dir, "files", name), time.Time{}, time.Unix(1_700_000_000, 0)))
	}
	config := filepath.Join(dir, "nginx.conf")
	harness.WriteFile(t, config, fmt.Sprintf(nginxConfig, address))
	nginx := harness.Start(t, "nginx", nil, "nginx", "-p", dir, "-c", config, "-e", "stderr")
	harness.WaitFor(t, "nginx answers", func() bool {
		if nginx.Ended() {
			t.Fatal("nginx ended")
		}
		status, _ := harness.Page("http://" + address + "/one")
		return status == 200
	})
	return address
}

func TestNginxAnswersTheSame(t *testing.T) {
	p := newPair(t, startNginx(t))
	questions := []question{
		getWith("/large", "Range: bytes=100-199⏎"), getWith("/one", "Range: bytes=5-⏎"),
		getWith("/page.html", "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT⏎"), getWith("/page.html", "If-Match: \"no\"⏎"),
		getWith("/gzip/style.css", "Accept-Encoding: gzip⏎"), getWith("/gzip/large", "Accept-Encoding: gzip⏎"),
		getWith("/told?a=%20b", "X-A: \xe4⏎Cookie: a=1; b=2⏎"),
		send("POST", "/told", "", "abc"), send("POST", "/page.html", "", "abc"), send("PUT", "/one", "", "abc"),
		send("DELETE", "/one", "", ""), send("POST", "/teapot", "Content-Type: text/plain⏎", "abc"),
		{name: "chunks", text: request("POST", "/told", "Transfer-Encoding: chunked⏎", "3⏎abc⏎0⏎⏎")},
		{name: "HEAD of a page", text: request("HEAD", "/page.html", "", "")},
		{name: "HEAD of none", text: request("HEAD", "/no-such", "", "")},
		{name: "HEAD, gzip", text: request("HEAD", "/gzip/large", "Accept-Encoding: gzip⏎", "")},
		{name: "OPTIONS", text: request("OPTIONS", "/one", "", "")},
		{name: "a method of its own", text: request("PURGE", "/one", "", "")},
		{name: "a body that is too large", text: request("POST", "/told", "Expect: 100-continue⏎Content-Length: 2000000⏎", ""), early: true},
	}
	for _, target := range []string{
		"/one", "/empty.html", "/page.html", "/style.css", "/large", "/list", "/list/", "/list/a%20b.html", "/no-such", "/../x",
		"/many", "/none", "/moved", "/absolute", "/gone", "/teapot", "/%70age.html", "//page.html", "/page.html?x=y#z",
	} {
		questions = append(questions, get(target))
	}
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) { p.compare(t, q) })
	}
}

// An origin that hangs up without a word is the one difference that there has to be: the caller is told.
func TestNginxThatHangsUpIs502(t *testing.T) {
	p := newPair(t, startNginx(t))
	got := ask(t, p.near.Outbound, strings.ReplaceAll(request("GET", "/silent", "", ""), "⏎", "\r\n"))
	if !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "\r\nX-Graylane-Error: origin_closed\r\n") {
		t.Errorf("got %q, want 502 for origin_closed", got)
	}
}
