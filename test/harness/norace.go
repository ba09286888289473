//go:build !race

package harness

// RaceEnabled says that this binary and what it builds have the race detector.
const RaceEnabled = false
