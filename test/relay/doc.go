// Package relay proves that bytes pass two sidecars as they should: caller, outbound, inbound, origin.
//
// Both ends are raw sockets, since HTTP libraries hide most faults. In all texts ⏎ stands for CRLF. What the sidecars
// add by design (docs/headers.md) is taken out of what origins heard before it is compared.
// Everything is in test files: nothing here is part of the product.
package relay
