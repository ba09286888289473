package main

import "strings"

// head is the header of a request that somebody wrote down: it lets the code
// that reads tags and trace ids off live requests read them there.
type head map[string]string

// Get returns the value of a header, nil if there is none.
func (h head) Get(name string) []byte {
	for known, value := range h {
		if strings.EqualFold(known, name) {
			return []byte(value)
		}
	}
	return nil
}

// Values appends the value of a header to dst.
func (h head) Values(dst [][]byte, name string) [][]byte {
	if value := h.Get(name); value != nil {
		return append(dst, value)
	}
	return dst
}

// Set puts a header in place.
func (h head) Set(name string, value []byte) {
	h.Del(name)
	h[name] = string(value)
}

// Del removes a header.
func (h head) Del(name string) {
	for known := range h {
		if strings.EqualFold(known, name) {
			delete(h, known)
		}
	}
}

// DelAlike removes a header; nobody wrote down what only looks like it.
func (h head) DelAlike(name string) { h.Del(name) }
