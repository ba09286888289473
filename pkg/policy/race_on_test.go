//go:build race

package policy

// raceDetector: sync.Pool forgets on purpose under the race detector, so that
// what is pooled is allocated again.
const raceDetector = true
