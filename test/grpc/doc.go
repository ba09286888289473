// Package grpc holds the sidecar to what others say that HTTP/2 and gRPC are: the interop suite of gRPC goes through
// two sidecars, calls of all kinds go between pods whose traffic the kernel redirects (which takes root), and h2spec asks
// our inbound side. It is a module of its own, since the sidecar needs none of it.
package grpc
