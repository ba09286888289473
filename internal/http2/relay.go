package http2

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"graylane/internal/http1"
)

// bufferSize is that of the largest frame that most peers send.
const bufferSize = 16 << 10

// relay passes a reply on, from its head to its trailers, each piece as it comes.
func (x *Exchange) relay(ctx context.Context, o *Origin, reply *http.Response) error {
	x.interim.end()
	x.body.settle()
	x.limit.moved(replying)
	announced := slices.Sorted(maps.Keys(reply.Trailer))
	x.head(reply, announced)

	if !x.body.ended() {
		// net/http notices the end of ctx only when it next writes, and for that the
		// origin must read.
		stop := context.AfterFunc(ctx, func() { _ = reply.Body.Close() })
		defer stop()
	}
	err := x.flow(reply)
	if err == nil {
		x.trailers(reply, announced)
		if !x.body.ended() {
			_ = reply.Body.Close() // it was read to its end, but the origin is sent no more
		}
		return nil
	}
	_ = reply.Body.Close() // as above, or broken
	e := x.explain(ctx, o, err)
	x.cut(reply, e)
	return e
}

// head passes the head on, with nothing that net/http would add to it.
func (x *Exchange) head(reply *http.Response, announced []string) {
	h := x.w.Header()
	for _, name := range [...]string{"Date", "Content-Length", "Content-Type"} {
		h[name] = nil
	}
	maps.Copy(h, reply.Header)
	dropHopFields(h)
	if len(announced) > 0 {
		h["Trailer"] = []string{strings.Join(announced, ", ")}
	}
	x.edit(h)
	x.status, x.replied = reply.StatusCode, true
	x.judge(reply.Header)
	x.w.WriteHeader(reply.StatusCode)
}

// judge takes the status of a call of gRPC, from the head of a reply that has
// nothing else or from the trailers.
func (x *Exchange) judge(h http.Header) {
	if status := h.Get("Grpc-Status"); x.grpc && status != "" {
		x.status = httpStatus(status)
	}
}

// flow passes the body on.
func (x *Exchange) flow(reply *http.Response) error {
	if reply.ContentLength != 0 && x.Req.http.Method != http.MethodHead {
		// Something follows, and may take its time. Else the head is not flushed, so
		// that it can end the stream.
		if err := x.flush(); err != nil {
			return err
		}
	}
	buffer, ok := x.buffers.Get().(*[bufferSize]byte)
	if !ok {
		buffer = new([bufferSize]byte)
	}
	defer x.buffers.Put(buffer)
	for {
		n, err := reply.Body.Read(buffer[:])
		if n > 0 {
			x.limit.moved(replying)
			if _, err := x.w.Write(buffer[:n]); err != nil {
				return gone(err)
			}
			if err := x.flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (x *Exchange) flush() error {
	if w, ok := x.w.(interface{ FlushError() error }); ok {
		return gone(w.FlushError())
	}
	return nil
}

// gone is the error of writing to the caller.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return &http1.Error{Op: "relay", Reason: http1.CallerGone, Err: err}
}

// trailers passes the trailers on, announced or not.
func (x *Exchange) trailers(reply *http.Response, announced []string) {
	h := x.w.Header()
	for _, name := range announced {
		delete(h, name) // which net/http would take for the trailer
	}
	for name, values := range reply.Trailer {
		if len(values) > 0 {
			h[http.TrailerPrefix+name] = values
		}
	}
	x.judge(reply.Trailer)
}

// cut ends a reply that has broken off. A call of gRPC ends with a status, since
// its message cannot be taken for a whole one; any other has to be reset.
func (x *Exchange) cut(reply *http.Response, e *http1.Error) {
	status, reason := http1.Status(e)
	if status == 0 || !x.grpc || !isGRPC(reply.Header.Get("Content-Type")) {
		x.broken = true
		return
	}
	c := codeOf(status, reason)
	if reset, ok := errors.AsType[streamError](e); ok {
		c = codeOfReset(reset.Code)
	}
	h := x.w.Header()
	h.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(c)))
	h.Set(http.TrailerPrefix+"Grpc-Message", message(http1.Text(reason)))
	x.status = status
}
