//go:build !race

package http1

const racing = false
