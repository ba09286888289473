package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// asker asks endpoints whether they are well, on connections that requests do
// not use: a check must not wait for one of theirs, nor keep one from them.
type asker struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	http *http.Transport // HTTP/1.1
	h2c  *http.Transport
}

func newAsker(dial func(ctx context.Context, addr string) (net.Conn, error)) *asker {
	a := &asker{dial: new(net.Dialer).DialContext}
	if dial != nil {
		a.dial = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }
	}
	// A connection of its own for each check tells whether new ones are taken too.
	a.http = &http.Transport{DialContext: a.dial, DisableKeepAlives: true, DisableCompression: true}
	a.h2c = &http.Transport{DialContext: a.dial, DisableCompression: true, Protocols: new(http.Protocols)}
	a.h2c.Protocols.SetUnencryptedHTTP2(true)
	return a
}

func (a *asker) close() {
	a.http.CloseIdleConnections()
	a.h2c.CloseIdleConnections()
}

// check returns why the endpoint is not well, nil if it is. With h2c it is asked in
// HTTP/2, as it is sent requests.
func (a *asker) check(ctx context.Context, address string, h2c bool, c *Check) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	switch c.Kind {
	case CheckTCP:
		return a.connect(ctx, address, c.Timeout)
	case CheckGRPC:
		return a.askGRPC(ctx, address, c)
	}
	if h2c {
		return a.askHTTP(ctx, a.h2c, address, c)
	}
	return a.askHTTP(ctx, a.http, address, c)
}

func (a *asker) connect(ctx context.Context, address string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := a.dial(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("probing: %w", err)
	}
	return conn.Close()
}

func (a *asker) askHTTP(ctx context.Context, by *http.Transport, address string, c *Check) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+c.Path, nil)
	if err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	req.Header = c.Header.Clone()
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header.Set("User-Agent", "graylane-health")
	defer by.CloseIdleConnections() // the next check has a connection of its own
	resp, err := by.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	defer resp.Body.Close()
	if !slices.Contains(c.Expect, resp.StatusCode) {
		return fmt.Errorf("checking: GET %s answered %d, want %v", c.Path, resp.StatusCode, c.Expect)
	}
	// The body is read to its end, or the app would see an aborted request, but
	// not for ever.
	if _, err := io.CopyN(io.Discard, resp.Body, mostBody); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("checking: reading the answer: %w", err)
	}
	return nil
}

// mostBody is more than any answer to a health check has.
const mostBody = 64 << 10
