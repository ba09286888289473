// Package servers runs servers that people run, with clients of their own, in pods whose traffic the kernel redirects:
// Redis, whose clients speak first, and MariaDB, which speaks first itself.
//
// It takes root, and is a module of its own, since it needs redis-server and mariadbd.
package servers
