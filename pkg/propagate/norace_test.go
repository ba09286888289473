//go:build !race

package propagate

const raceEnabled = false
