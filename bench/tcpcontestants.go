package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// streamModule is what nginx needs to take part: apt-get install libnginx-mod-stream.
const streamModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

func (t *tcpContest) contestants() ([]contestant, error) {
	at := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", 19200+n) }
	in := func(name string) string { return filepath.Join(t.dir, name) }
	all := []contestant{
		{name: direct, address: tcpTold},
		{name: haproxy, address: at(1), command: []string{"haproxy", "-db", "-f", in("haproxy.cfg")}},
		{name: "HAProxy splice", address: at(2), command: []string{"haproxy", "-db", "-f", in("splice.cfg")}},
		// It keeps a pipe for each direction, so that a connection takes six descriptors.
		{name: "Go io.Copy", address: at(3), command: []string{t.self, "tcpforwarder", at(3)}, lonely: true},
		{name: ours, address: at(4), command: []string{
			t.sidecar, "run", "--policy", in("policy.yaml"), "--outbound", at(4),
			"--inbound", at(5), "--admin", at(6), "--health", at(7), "--app", at(8), "--log-level", "warn",
		}},
	}
	files := map[string]string{
		"haproxy.cfg": haproxyTCPConfig(all[1].address, ""),
		"splice.cfg":  haproxyTCPConfig(all[2].address, "option splice-request\n  option splice-response"),
		"policy.yaml": policy(),
	}
	if _, err := os.Stat(streamModule); err == nil {
		all = slices.Insert(all, 3, contestant{name: "nginx", address: at(9), command: []string{"nginx", "-p", t.dir, "-e", "stderr", "-c", in("nginx.conf")}})
		files["nginx.conf"] = nginxStreamConfig(at(9))
	}
	for name, text := range files {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil { // another user reads them
			return nil, err
		}
	}
	return all, nil
}

func haproxyTCPConfig(address, option string) string {
	return `global
  nbthread 1
  maxconn 10500
  no strict-limits
defaults
  mode tcp
  ` + option + `
  timeout connect 5s
  timeout client 1m
  timeout server 1m
frontend callers
  bind ` + address + ` backlog 4096
  default_backend origin
backend origin
  server origin ` + tcpOrigin + `
`
}

func nginxStreamConfig(address string) string {
	return `load_module ` + streamModule + `;
worker_processes 1;
daemon off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 19000; }
stream {
  server {
    listen ` + address + ` backlog=4096;
    proxy_pass ` + tcpOrigin + `;
    proxy_connect_timeout 5s;
    proxy_timeout 1m;
    proxy_half_close on;
  }
}
`
}
