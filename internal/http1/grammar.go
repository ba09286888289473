package http1

import "errors"

var (
	errMethod = errors.New("bad method")
	errHop    = errors.New("header of one connection of HTTP/1")
	errTE     = errors.New("bad TE")
)

// CheckTarget holds the head of a request that did not come as HTTP/1 to what is asked of one that
// did, since whoever gets it may write it as HTTP/1. path and query are those of the target; path is
// empty for CONNECT, and authority where the request names none.
func CheckTarget(method, authority, path, query []byte) error {
	for _, c := range method {
		if !token[c] {
			return errMethod
		}
	}
	connect := string(method) == "CONNECT"
	switch {
	case len(method) == 0:
		return errMethod
	case connect && (len(path) > 0 || len(query) > 0 || !hostPort(authority, true)):
		return errTarget
	case connect:
		return nil
	case len(authority) > 0 && !hostPort(authority, false):
		return errHost
	case string(path) == "*" && string(method) == "OPTIONS" && query == nil:
		return nil
	case len(path) == 0 || path[0] != '/' || !plainTarget(path) || !plainTarget(query):
		return errTarget
	}
	return nil
}

// CheckField is CheckTarget for one line of the header, or of trailers.
func CheckField(name, value string) error {
	for i := range len(name) {
		if !token[name[i]] {
			return errName
		}
	}
	for i := range len(value) {
		if isControl(value[i]) {
			return errControl
		}
	}
	switch identify(name) {
	case kConnection, kKeepAlive, kProxyConnection, kTransferEncoding, kUpgrade:
		return errHop
	case kTE:
		if value != "" && !equalFold(value, "trailers") {
			return errTE
		}
	case other:
		if len(name) == 0 {
			return errName
		}
		if confusing(name) {
			return errConfusing
		}
	}
	return nil
}

// CheckLength reads the values of Content-Length.
func CheckLength(values []string) (int64, error) {
	if len(values) > 1 {
		return 0, errLengths
	}
	n, ok := decimal(values[0])
	if !ok {
		return 0, errLength
	}
	return n, nil
}
