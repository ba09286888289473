package http2

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// code is a status of gRPC.
type code int

// The statuses that we make, or read (google.rpc.Code).
const (
	codeOK                 code = 0
	codeCancelled          code = 1
	codeUnknown            code = 2
	codeDeadlineExceeded   code = 4
	codePermissionDenied   code = 7
	codeResourceExhausted  code = 8
	codeFailedPrecondition code = 9
	codeUnimplemented      code = 12
	codeInternal           code = 13
	codeUnavailable        code = 14
)

// httpStatuses are the HTTP statuses that say the same as those of gRPC, by number,
// as google/rpc/code.proto lists them.
var httpStatuses = [...]int{200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401}

// httpStatus is the HTTP status that says what a grpc-status says.
func httpStatus(status string) int {
	n, err := strconv.Atoi(status)
	if err != nil || n < 0 || n >= len(httpStatuses) {
		return http.StatusInternalServerError
	}
	return httpStatuses[n]
}

// codeOf is the status of gRPC for an answer of our own.
func codeOf(status int, reason string) code {
	if reason == "overloaded" {
		return codeResourceExhausted // and not Unavailable, which many clients would try again
	}
	switch status {
	case http.StatusOK:
		return codeOK
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return codeUnavailable
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return codeDeadlineExceeded
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge:
		return codeResourceExhausted
	case http.StatusMisdirectedRequest, http.StatusLoopDetected:
		return codeFailedPrecondition
	case http.StatusForbidden:
		return codePermissionDenied
	case http.StatusNotFound, http.StatusNotImplemented:
		return codeUnimplemented
	case http.StatusBadRequest:
		return codeInternal
	}
	return codeUnknown
}

// codeOfReset is the status for a stream that was reset with the error code (gRPC
// over HTTP/2, "HTTP2 Transport Mapping").
func codeOfReset(reset uint32) code {
	switch reset {
	case resetRefused:
		return codeUnavailable
	case resetCancel:
		return codeCancelled
	case resetEnhanceYourCalm:
		return codeResourceExhausted
	case resetInadequateSecurity:
		return codePermissionDenied
	}
	return codeInternal
}

// Error codes of RST_STREAM (RFC 9113, section 7).
const (
	resetRefused            = 0x7
	resetCancel             = 0x8
	resetEnhanceYourCalm    = 0xb
	resetInadequateSecurity = 0xc
)

// isGRPC tells whether a Content-Type is that of gRPC, which that of gRPC-Web is
// not.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// timeout reads a grpc-timeout: at most 8 digits and a unit.
func timeout(value string) (time.Duration, bool) {
	if len(value) < 2 || len(value) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(value[:len(value)-1], 10, 32)
	unit := unitOf(value[len(value)-1])
	if err != nil || unit == 0 || n > uint64(math.MaxInt64/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

func unitOf(c byte) time.Duration {
	switch c {
	case 'H':
		return time.Hour
	case 'M':
		return time.Minute
	case 'S':
		return time.Second
	case 'm':
		return time.Millisecond
	case 'u':
		return time.Microsecond
	case 'n':
		return time.Nanosecond
	}
	return 0
}

// message is text as grpc-message has it: percent-encoded but for what is visible.
func message(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
