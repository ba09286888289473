package http2

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"graylane/internal/http1"
)

// Tunnel connects the caller of a CONNECT (RFC 9113, section 8.5) to o: 200, and
// then bytes both ways, until one side has ended.
func (x *Exchange) Tunnel(o *Origin) error {
	if !x.Req.Connect() {
		return &http1.Error{Op: "tunnel", Addr: o.addr, Reason: http1.WrongMethod}
	}
	ctx, cancel := context.WithTimeout(x.Req.http.Context(), o.cfg.Connect)
	defer cancel()
	conn, err := o.cfg.Dial(ctx, o.addr)
	if err != nil {
		return http1.ConnectError(ctx, o.addr, err)
	}
	defer conn.Close()
	x.interim.end()
	x.status, x.replied = http.StatusOK, true
	x.edit(x.w.Header())
	x.w.WriteHeader(http.StatusOK)
	go func() {
		// It ends with the caller's side of the stream, the handler's end included.
		if _, err := io.Copy(conn, x.body.from); err != nil {
			_ = conn.Close() // what is lost is lost on a broken stream
		} else if c, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite() // fails if it is broken, which the other way hears
		}
	}()
	err = x.flow(&http.Response{Body: conn, ContentLength: -1})
	if err == nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	x.broken = true
	return x.explain(x.Req.http.Context(), o, err)
}
