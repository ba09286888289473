// Package clients asks HTTP clients of several languages what brings their calls to a proxy, as README says it.
//
// It is a module of its own, since it needs curl, Python with requests, Node and Java.
package clients
