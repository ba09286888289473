// Package dns lets a sidecar find its endpoints at a real name server, dnsmasq on loopback, whose answers change.
//
// It is a module of its own, so that the tests of the sidecar do not need dnsmasq.
package dns
