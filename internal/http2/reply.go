package http2

import (
	"net/http"
	"strconv"
	"strings"
)

// Reply is an answer of our own: X-Graylane-Error: reason (left out if empty) and
// text as one line of text/plain, none if empty. A caller of gRPC gets a reply of
// nothing but a head, with a grpc-status and text as its message.
func (x *Exchange) Reply(status int, reason, text string) {
	if x.grpc {
		x.replyGRPC(status, codeOf(status, reason), reason, text)
		return
	}
	if !x.begin(status, reason) {
		return
	}
	h := x.w.Header()
	if text != "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\n"
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.edit(h)
	x.w.WriteHeader(status)
	if x.Req.http.Method != http.MethodHead {
		_, _ = x.w.Write([]byte(text)) // who does not hear it has left
	}
}

func (x *Exchange) replyGRPC(status int, c code, reason, text string) {
	if !x.begin(status, reason) {
		return
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/grpc")
	h["Content-Length"] = nil // else net/http adds one
	h.Set("Grpc-Status", strconv.Itoa(int(c)))
	if text != "" {
		h.Set("Grpc-Message", message(text))
	}
	x.edit(h)
	x.w.WriteHeader(http.StatusOK)
}

// begin makes the reply ours, if none has begun.
func (x *Exchange) begin(status int, reason string) bool {
	if x.replied || x.broken {
		return false
	}
	x.interim.end()
	x.status, x.replied = status, true
	if reason != "" {
		x.SetReply("X-Graylane-Error", reason)
	}
	return true
}
