package main

import (
	"bytes"
	"fmt"
	"net"
	"strconv"

	"github.com/valyala/fasthttp"
)

const (
	baseOrigin = "127.0.0.1:19001"
	grayOrigin = "127.0.0.1:19002"

	servedBy = "X-Served-By" // which origin a reply is from: base or gray
	hostName = "shop.example"
	largest  = 1 << 20
)

// runOrigin serves both origins: GET /N gives N bytes, GET /heard the head of the request.
func runOrigin([]string) error {
	failed := make(chan error)
	for address, tag := range map[string]string{baseOrigin: "base", grayOrigin: "gray"} {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			return err
		}
		go func() { failed <- originServer(tag).Serve(l) }()
	}
	return <-failed
}

func originServer(tag string) *fasthttp.Server {
	body := bytes.Repeat([]byte("graylane"), largest/8)
	return &fasthttp.Server{
		NoDefaultDate: true, NoDefaultServerHeader: true,
		Handler: func(c *fasthttp.RequestCtx) {
			h := &c.Response.Header
			h.SetContentType("application/octet-stream")
			h.Set(servedBy, tag)
			path := c.Path()
			if string(path) == "/heard" {
				c.SetBody(c.Request.Header.Header())
				return
			}
			n, err := strconv.Atoi(string(path[1:]))
			if err != nil || n < 0 || n > largest {
				c.Error(fmt.Sprintf("no page %s", path), fasthttp.StatusNotFound)
				return
			}
			c.Response.SetBodyRaw(body[:n])
		},
	}
}
