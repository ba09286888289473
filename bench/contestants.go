package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// contestant is a proxy that takes part.
type contestant struct {
	name, address string
	// command that runs it; nil: there is no proxy, callers go to the base origin.
	command []string
	// lonely: it cannot have as many connections as a crowd.
	lonely bool
}

const (
	direct  = "direct"
	haproxy = "HAProxy"
	ours    = "sidecar"
)

func (h *httpContest) contestants() ([]contestant, error) {
	dir, self := h.dir, h.self
	at := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", 19100+n) }
	all := []contestant{
		{name: direct, address: baseOrigin},
		{name: haproxy, address: at(1), command: []string{"haproxy", "-db", "-f", filepath.Join(dir, "haproxy.cfg")}},
		{name: "nginx", address: at(2), command: []string{"nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf")}},
		{name: "fasthttp forwarder", address: at(3), command: []string{self, "forwarder", at(3)}},
		{name: "httputil.ReverseProxy", address: at(4), command: []string{self, "reverseproxy", at(4)}},
		{name: ours, address: at(5), command: []string{
			h.sidecar, "run", "--policy", filepath.Join(dir, "policy.yaml"), "--outbound", at(5),
			"--inbound", at(6), "--admin", at(7), "--health", at(8), "--app", at(9), "--log-level", "warn",
		}},
	}
	for name, text := range map[string]string{
		"haproxy.cfg": haproxyConfig(all[1].address), "nginx.conf": nginxConfig(all[2].address), "policy.yaml": policy(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// haproxyConfig makes ids out of one UUID, which costs least there.
func haproxyConfig(address string) string {
	const id = "%[var(txn.id),bytes(0,8)]%[var(txn.id),bytes(9,4)]%[var(txn.id),bytes(14,4)]%[var(txn.id),bytes(19,4)]%[var(txn.id),bytes(24,12)]"
	return `global
  nbthread 1
  maxconn 10500
  no strict-limits
defaults
  mode http
  timeout connect 5s
  timeout client 1m
  timeout server 1m
  timeout http-keep-alive 1m
  http-reuse always
frontend callers
  bind ` + address + ` backlog 4096
  acl traced req.hdr(traceparent) -m found
  acl gray req.hdr(X-Gray) -m str gray
  http-request set-var(txn.id) uuid() unless traced
  http-request set-header traceparent 00-` + id + `-%[var(txn.id),bytes(0,8)]%[var(txn.id),bytes(28,8)]-01 unless traced
  http-request set-header X-Gray gray if gray
  http-request set-header X-Gray base unless gray
  use_backend gray if gray
  default_backend base
backend base
  server origin ` + baseOrigin + `
backend gray
  server origin ` + grayOrigin + `
`
}

func nginxConfig(address string) string {
	upstream := func(name, address string) string {
		return "  upstream " + name + " { server " + address + "; keepalive 1024; keepalive_requests 1000000000; }\n"
	}
	return `user root;
worker_processes 1;
daemon off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 12000; }
http {
  access_log off;
  server_tokens off;
  keepalive_timeout 60s;
  keepalive_requests 1000000000;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
` + upstream("base", baseOrigin) + upstream("gray", grayOrigin) + `
  map $http_x_gray $tag { default base; gray gray; }
  map $request_id $span { "~^(?<half>.{16})" $half; }
  map $http_traceparent $parent { "" 00-$request_id-$span-01; default $http_traceparent; }
  server {
    listen ` + address + ` backlog=4096;
    location / {
      proxy_pass http://$tag;
      proxy_http_version 1.1;
      proxy_max_temp_file_size 0;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_set_header X-Gray $tag;
      proxy_set_header traceparent $parent;
    }
  }
}
`
}

// policy has rules that are asked, and services beside the one that is called.
func policy() string {
	return fmt.Sprintf(`apiVersion: graylane.dev/v1
rules:
  - name: testers
    tag: gray
    matches: [{headers: [{name: X-User-Id, values: ["1", "2", "3"]}]}, {cookies: [{name: canary, value: "always"}]}]
  - name: some-users
    tag: gray
    percent: 5
    by: {header: X-User-Id}
services:
  - name: shop
    hosts: [%s]
    versions: [{tag: base, endpoints: [%q]}, {tag: gray, endpoints: [%q]}]
  - name: users
    hosts: [users, users.default.svc.cluster.local]
    versions: [{tag: base, endpoints: ["127.0.0.1:9"]}]
  - name: orders
    hosts: [orders, "*.orders.svc"]
    versions: [{tag: base, endpoints: ["127.0.0.1:9"]}, {tag: blue, endpoints: ["127.0.0.1:9"]}]
`, hostName, baseOrigin, grayOrigin)
}
