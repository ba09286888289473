package http2

import (
	"errors"
	"net/http"
	"strings"

	"graylane/internal/http1"
)

// hopFields mean something on one connection of HTTP/1, and are not in HTTP/2
// (RFC 9113, section 8.2.2).
var hopFields = [...]string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"}

func dropHopFields(h http.Header) {
	for _, name := range hopFields {
		delete(h, name)
	}
}

// admissible says why a request is not served, nil if it is.
func (r *Request) admissible(most int) error {
	if r.size() > most {
		return &http1.Error{Op: "read", Reason: http1.HeadTooLarge}
	}
	if err := r.check(); err != nil {
		return &http1.Error{Op: "read", Reason: http1.BadRequest, Err: err}
	}
	return nil
}

// check says what is wrong with a request. net/http has looked at most of this; what
// an app behind us would take a request for does not depend on that alone.
func (r *Request) check() error {
	if err := http1.CheckTarget(r.method, r.authority, r.path, r.query); err != nil {
		return err
	}
	if err := checkFields(r.http.Header); err != nil {
		return err
	}
	for name := range r.http.Trailer { // of which there is no value yet
		if err := http1.CheckField(name, ""); err != nil {
			return err
		}
	}
	if err := r.checkHost(); err != nil {
		return err
	}
	return r.checkLength()
}

func checkFields(h http.Header) error {
	for name, values := range h {
		for _, value := range values {
			if err := http1.CheckField(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkHost: a Host may not name anybody but :authority (RFC 9113, section 8.3.1).
func (r *Request) checkHost() error {
	hosts := r.http.Header["Host"]
	if len(hosts) > 1 || len(hosts) == 1 && !strings.EqualFold(hosts[0], r.http.Host) {
		return errHosts
	}
	return nil
}

// checkLength: a length is one number, and 0 where no body is to come. net/http
// counts what comes (RFC 9113, section 8.1.1).
func (r *Request) checkLength() error {
	values := r.http.Header["Content-Length"]
	if len(values) == 0 {
		return nil
	}
	n, err := http1.CheckLength(values)
	if err == nil && n != r.http.ContentLength {
		err = errLength
	}
	return err
}

var (
	errHosts  = errors.New("more than one host, in Host and :authority")
	errLength = errors.New("Content-Length of a request without a body")
)
