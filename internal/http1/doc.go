// Package http1 relays one HTTP/1 exchange between two connections, streaming both ways.
//
// A Server answers the requests on the connections that it is handed. A connection (caller) waits
// without a buffer; with the first byte of a request it borrows an Exchange, reads the head into it
// (Request, over head), and calls the Handler. The Handler edits the head in place and sends the
// exchange to an Origin, which lends one of its kept connections or makes one. The reply's head
// (reply, also over head) is written to the caller as it came but for what concerns one hop only;
// bodies pass through as they come, their framing checked (body, chunks). One goroutine does all of
// this; a second one runs only while a request's body has to be waited for (upload) or in a tunnel.
// The requests in a tunnel that holds HTTP are answered on its connection, one after the other, like
// those outside (look.go).
//
// What a head means is decided by one strict scan of our own (scan.go, inspect.go); fasthttp reads
// it a second time, and a head that the two read differently is refused (parsers.go). See
// docs/adr/http1-heads-by-fasthttp.md.
//
// Time limits are kept by a watch that looks at all connections a few times a second (guard.go), so
// that no timer moves while bytes do. It also notices callers that have left.
package http1
