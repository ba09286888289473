package main

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

const exampleParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// appendParent appends a new traceparent.
func appendParent(b []byte) []byte {
	var id [24]byte
	for i := 0; i < len(id); i += 8 {
		binary.LittleEndian.PutUint64(id[i:], rand.Uint64()|1)
	}
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, id[:16])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[16:])
	return append(b, "-01"...)
}
