package main

import (
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// runReverseProxy is the standard library's proxy, with the buffer pool that its documentation recommends.
func runReverseProxy(args []string) error {
	l, err := net.Listen("tcp4", args[0])
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		BufferPool: &copyBuffers{},
		Transport: &http.Transport{
			DisableCompression: true, MaxIdleConns: crowdLarge, MaxIdleConnsPerHost: crowdLarge, IdleConnTimeout: time.Minute,
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", baseOrigin
			tag := "base"
			if r.In.Header.Get("X-Gray") == "gray" {
				r.Out.URL.Host, tag = grayOrigin, "gray"
			}
			r.Out.Host = r.In.Host
			r.Out.Header.Set("X-Gray", tag)
			if r.In.Header.Get("Traceparent") == "" {
				r.Out.Header.Set("Traceparent", string(appendParent(nil)))
			}
		},
	}
	server := &http.Server{Handler: proxy, IdleTimeout: time.Minute, ReadHeaderTimeout: time.Minute}
	return server.Serve(l)
}

// copyBuffers lends the buffers through which bodies are copied.
type copyBuffers struct{ pool sync.Pool }

func (p *copyBuffers) Get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 32<<10)
}

func (p *copyBuffers) Put(b []byte) { p.pool.Put(&b) }
