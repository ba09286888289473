// Package differential sends the same requests to real origins direct and through two sidecars, and compares bytes.
//
// The origins are go-httpbin and nginx, behind a tap that records what they hear. It is a module of its own, so that
// the sidecar does not depend on go-httpbin.
package differential
