package http1

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// Reply is an answer of our own: X-Graylane-Error: reason (left out if empty) and text as one line
// of text/plain, none if empty.
func (x *Exchange) Reply(status int, reason, text string) {
	if x.replied || x.broken {
		return
	}
	if x.guard.why() != uncut {
		x.guard.resume()
	}
	x.guard.within(lingering)
	x.status, x.replied = status, true
	x.keep = x.Req.keepAlive && x.bodyConsumed() && !x.caller.last && !x.server.closing() && !x.Req.odd
	out := x.server.bufs.get(small)
	b := x.appendStatus(out[:0], status)
	b = appendLine(b, "Date", "")
	b = time.Now().UTC().AppendFormat(b[:len(b)-2], dateFormat)
	b = append(b, "\r\n"...)
	if reason != "" {
		x.setReply.set("X-Graylane-Error", []byte(reason))
	}
	if text != "" {
		b = appendLine(b, "Content-Type", "text/plain; charset=utf-8")
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\n"
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, "\r\n"...)
	b = x.setReply.appendTo(b)
	b = x.appendConnection(b)
	if x.fate != answered {
		b = appendLine(b, "Connection", fates[x.fate])
	}
	b = append(b, "\r\n"...)
	if string(x.method()) != "HEAD" {
		b = append(b, text...)
	}
	if x.wire.write(b, nil) != nil {
		x.broken = true
	}
	x.server.bufs.put(out)
}

const dateFormat = "Mon, 02 Jan 2006 15:04:05 GMT" // RFC 9110 section 5.6.7

// method is that of the request, empty if there was none that could be read.
func (x *Exchange) method() []byte {
	if x.Req.head.raw == nil {
		return nil
	}
	return x.Req.Method()
}

func (x *Exchange) appendStatus(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, fasthttp.StatusMessage(status)...)
	return append(b, "\r\n"...)
}

// appendConnection tells the caller what will become of its connection.
func (x *Exchange) appendConnection(b []byte) []byte {
	switch {
	case !x.keep && x.server.cfg.Sidecars && x.server.draining.Load():
		return appendLine(b, "Connection", "close, "+Leaving)
	case !x.keep:
		return appendLine(b, "Connection", "close")
	case x.Req.minor == 0:
		return appendLine(b, "Connection", "keep-alive")
	}
	return b
}

// Fail replies what Status makes of err, unless a reply has begun. With Config.Sidecars the caller hears whether
// the request may be sent elsewhere.
func (x *Exchange) Fail(err error) {
	status, reason := Status(err)
	if status == 0 {
		x.broken = true
		return
	}
	if e, ok := errors.AsType[*Error](err); ok && x.server.cfg.Sidecars {
		x.fate = fateOf(e)
	}
	x.Reply(status, reason, Text(reason))
}

// Text explains a reason to people, "" if there is nothing to say. It holds nothing that came from
// an origin.
func Text(reason string) string { return texts[reason] }

var texts = map[string]string{
	ConnectRefused: "the origin could not be connected to",
	ConnectTimeout: "the origin could not be connected to in time",
	DNSFailed:      "the name of the origin could not be resolved",
	OutOfFiles:     "the sidecar has no descriptor left to connect with",
	OriginClosed:   "the origin closed the connection without a reply",
	HeaderTimeout:  "the origin did not reply in time",
	IdleTimeout:    "the origin stopped taking the request",
	BadReply:       "the origin sent something that is not a valid reply",
	CallerTimeout:  "the request did not arrive in time",
	BadRequest:     "the request is not valid HTTP",
	HeadTooLarge:   "the request's header is too large",
	BodyTooLarge:   "the request's body is too large",
	BadVersion:     "the HTTP version is not supported here",
	TooManyConns:   "too many connections",
	ShuttingDown:   "the sidecar is shutting down",
	NoReply:        "nothing was decided about the request",
	Loop:           "the request would come back to this sidecar",
	WrongMethod:    "only CONNECT can be tunnelled",
}
