//go:build race

package propagate

const raceEnabled = true
