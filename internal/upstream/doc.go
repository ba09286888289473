// Package upstream knows the endpoints, which are healthy, which is next, and
// how to send to one.
//
// Three questions, each with a place of its own. Who exists: a [Table] holds the
// versions of all services, a [Group] is one of them as one policy wants it, and
// [Group.Set] replaces its endpoints. Who is well: each [Endpoint] has a circuit,
// fed by what becomes of the requests, and may have active checks, run by
// [Table.Run]; what changes makes a new view of the group. Who is next: a [Pick]
// reads the view and walks over it, for one request, without a lock.
//
// Each policy has a [Generation] of groups. It is built beside the one in use,
// published with its policy, and then committed, which retires what only the old
// one had. A version that stays keeps its place in the round, and an address that
// stays in it keeps its connections, health and counts.
package upstream
