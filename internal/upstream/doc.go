// Package upstream knows the endpoints, which of them is next, and how to send
// to one.
//
// A [Table] holds the [Endpoint]s in use, one an address. Each policy has a
// [Generation] of it: one [Group] a version, with the endpoints of that version
// in order. A generation is built beside the one in use, published with its
// policy, and then committed, which retires the addresses that only the old one
// had. An address that stays keeps its connections and counts, and a version
// that stays keeps its place in the round. A [Pick] walks a group once, from
// where the round robin is.
package upstream
