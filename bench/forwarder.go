package main

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// runForwarder is the least that a proxy on fasthttp's Server and HostClient can be.
func runForwarder(args []string) error {
	l, err := net.Listen("tcp4", args[0])
	if err != nil {
		return err
	}
	base, gray := hostClient(baseOrigin), hostClient(grayOrigin)
	server := &fasthttp.Server{
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true,
		DisableHeaderNamesNormalizing: true, Concurrency: crowdLarge * 2, IdleTimeout: time.Minute,
		Handler: func(c *fasthttp.RequestCtx) {
			h := &c.Request.Header
			origin, tag := base, "base"
			if string(h.Peek("X-Gray")) == "gray" {
				origin, tag = gray, "gray"
			}
			h.Set("X-Gray", tag)
			if len(h.Peek("traceparent")) == 0 {
				var id [len(exampleParent)]byte
				h.SetBytesV("traceparent", appendParent(id[:0]))
			}
			h.Del("Connection")
			if err := origin.Do(&c.Request, &c.Response); err != nil {
				c.Error("bad gateway", fasthttp.StatusBadGateway)
			}
		},
	}
	return server.Serve(l)
}

func hostClient(address string) *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: address, MaxConns: crowdLarge, MaxIdleConnDuration: time.Minute,
		NoDefaultUserAgentHeader: true, DisableHeaderNamesNormalizing: true, DisablePathNormalizing: true,
	}
}
