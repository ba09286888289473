// Package http2 relays one HTTP/2 exchange between two connections.
//
// HTTP/2 here is cleartext with prior knowledge (h2c), spoken by net/http on both
// sides. A Server is handed connections and makes an Exchange of every stream on
// them: the Handler edits its head (Request) and sends it to an Origin, which
// multiplexes the streams of all callers over few connections. Nothing is
// collected on the way: what a body brings is passed on as it comes (relay), and
// who does not read stops who writes, by the windows of HTTP/2.
//
// The first bytes of a request's body are kept until the reply begins (body), so
// that a request that an origin has refused to begin can be sent again. Errors are
// those of package http1, so that who routes need not know the protocol; a caller
// of gRPC hears them as gRPC's statuses (grpc). An Origin can also be dialed as if
// it spoke HTTP/1 (bridge).
package http2
