// Package discovery turns names into addresses and keeps them current.
//
// A [Source] finds the endpoints of a version and sends every full set to a
// [Sink]: [DNS] asks for addresses, [SRV] for services, [File] reads a list. A
// source that fails says so, and what it found last stays in use. A [Finder] runs
// the sources of the policy in force; one that the next policy names too runs on.
package discovery
