// Package policy decides which version of a service a request goes to.
//
// A policy file becomes a *Policy in three steps: the text is parsed strictly
// into a [Spec] (the file as written), the spec is compiled, and every fault
// of either step is collected with its line and column. A compiled Policy is
// immutable: one request sees one policy from start to end.
//
// Two questions are asked of it, both without I/O and without allocation:
// [Policy.Tag] (which tag do the rules give this request) and
// [Service.Decide] (which version serves a request with this tag). [Watcher]
// keeps the file in force and [Store] hands it to the requests.
package policy
