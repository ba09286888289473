//go:build race

package http1

// racing: the race detector has sync.Pool drop what it is given at random, so pools allocate.
const racing = true
