// Package harness runs sidecars and other programs for tests, each a process of its own on loopback.
//
// A test package that uses it calls Main from its TestMain. What a test starts ends with the test, and on Linux with
// the test's process, however that ends.
package harness
