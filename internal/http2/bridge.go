package http2

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"graylane/internal/http1"
)

// HTTP1Config is cfg for an http1.Origin that leads here. It believes what the bridge
// says of requests that were not answered.
func (o *Origin) HTTP1Config(cfg http1.OriginConfig) http1.OriginConfig {
	cfg.Dial, cfg.MaxIdle, cfg.Sidecar = o.DialHTTP1, -1, true
	return cfg
}

// DialHTTP1 connects to the origin as if it spoke HTTP/1: the request that is sent
// on the connection goes on as a stream of HTTP/2. It is meant for one request: the
// connection exists only if the origin can be reached now, so that who dials learns
// whether it can.
//
// The far end is served in this process, by net/http, and the streams are those of
// all other callers.
func (o *Origin) DialHTTP1(ctx context.Context, _ string) (net.Conn, error) {
	l, _, e := o.take(ctx)
	if e != nil {
		own := *e // which others may be told too, and who dials may change
		return nil, &own
	}
	l.http.Release()
	near, far, err := pair()
	if err != nil {
		return nil, err
	}
	go func() { _ = o.bridging().Serve(&single{conn: newFarEnd(far)}) }() // ends at once, with the listener
	return near, nil
}

// bridging is the server of the far ends.
func (o *Origin) bridging() *http.Server {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bridge == nil {
		o.bridge = &http.Server{
			Handler:                      &bridge{origin: o},
			ConnContext:                  withConn,
			DisableGeneralOptionsHandler: true,        // OPTIONS * is for the origin
			ReadHeaderTimeout:            time.Minute, // far more than sending takes that has begun
			MaxHeaderBytes:               maxReplyHead,
		}
	}
	return o.bridge
}

// bridge sends requests of HTTP/1 to an origin.
type bridge struct {
	origin  *Origin
	buffers sync.Pool // of *[bufferSize]byte
}

// ServeHTTP serves one request. Its limits were kept by who has sent it, and also
// sends it elsewhere if that may be.
func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 always can
	if c, ok := r.Context().Value(connKey{}).(*farEnd); ok {
		c.restore(r)
	}
	x := newExchange(w, r, b, &b.buffers, 0)
	x.SetReply("Connection", "close")
	if err := x.Send(b.origin); err != nil {
		x.Fail(err)
	}
	x.finish()
}

// tell and leaves are those of a sidecar of HTTP/1.
func (*bridge) tell(h http.Header, what string) { h.Add("Connection", what) }
func (*bridge) leaves(x *Exchange) bool         { return x.leaving }

// pair is two connections that lead to each other.
func pair() (near, far net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	if near, err = connOf(fds[0]); err != nil {
		_ = syscall.Close(fds[1]) // nobody has it
		return nil, nil, err
	}
	if far, err = connOf(fds[1]); err != nil {
		_ = near.Close() // as above
		return nil, nil, err
	}
	return near, far, nil
}

func connOf(fd int) (net.Conn, error) {
	file := os.NewFile(uintptr(fd), "pair")
	defer file.Close() // the connection has a descriptor of its own
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	return conn, nil
}

// single is a net.Listener of one connection.
type single struct {
	conn net.Conn // nil once it was accepted
}

// Accept gives the connection, and ends the second time.
func (s *single) Accept() (net.Conn, error) {
	if s.conn == nil {
		return nil, http.ErrServerClosed
	}
	conn := s.conn
	s.conn = nil
	return conn, nil
}

// Close does nothing: who has accepted the connection closes it.
func (s *single) Close() error { return nil }

// Addr is that of no socket.
func (s *single) Addr() net.Addr { return &net.UnixAddr{} }
