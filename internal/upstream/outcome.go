package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"graylane/internal/http1"
)

// outcome judges the endpoint by what became of a request to it. An app's own
// 500 is an answer like any other: the app is there, and another endpoint would
// have said the same.
func (r *Result) outcome() outcome {
	if r.Dialed {
		return r.dialed()
	}
	if r.Err == nil {
		switch {
		case sick(r.Status):
			return bad
		case r.Status == 0:
			return unknown
		}
		return good
	}
	blamed, _ := http1.Status(r.Err)
	if !sick(blamed) {
		return unknown // the caller left, or sent what cannot be passed on
	}
	e, ok := errors.AsType[*http1.Error](r.Err)
	switch {
	case ok && e.Reason == http1.OutOfFiles:
		return unknown // the fault is ours
	case ok && e.Op == "connect":
		return unreached
	case ok && e.Reason == http1.OriginClosed:
		return broken
	}
	return bad
}

func (r *Result) dialed() outcome {
	switch {
	case r.Err == nil:
		return good
	case errors.Is(r.Err, context.Canceled):
		return unknown // the caller left
	case http1.NoFiles(r.Err):
		return unknown // the fault is ours
	}
	return unreached
}

func sick(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// why says what is wrong with an endpoint, for operators.
func (r *Result) why() string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case sick(r.Status):
		return fmt.Sprintf("answered %d", r.Status)
	}
	return ""
}
