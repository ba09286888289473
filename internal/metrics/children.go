package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// children keeps what a vector's labels resolve to, so that a request pays for
// one look-up instead of hashing strings under the vector's lock. The map behind
// the pointer is never written to; a new key makes a new map.
type children[K comparable, V any] struct {
	resolve func(K) V
	known   atomic.Pointer[map[K]V]
	adding  sync.Mutex
}

func newChildren[K comparable, V any](resolve func(K) V) *children[K, V] {
	c := &children[K, V]{resolve: resolve}
	c.known.Store(&map[K]V{})
	return c
}

func (c *children[K, V]) get(key K) V {
	if v, ok := (*c.known.Load())[key]; ok {
		return v
	}
	return c.add(key)
}

func (c *children[K, V]) add(key K) V {
	c.adding.Lock()
	defer c.adding.Unlock()
	if v, ok := (*c.known.Load())[key]; ok {
		return v
	}
	next := maps.Clone(*c.known.Load())
	next[key] = c.resolve(key)
	c.known.Store(&next)
	return next[key]
}

// drop takes out the keys that are gone, and has the vector forget each.
func (c *children[K, V]) drop(gone func(K) bool, forget func(K)) {
	c.adding.Lock()
	defer c.adding.Unlock()
	next := maps.Clone(*c.known.Load())
	maps.DeleteFunc(next, func(key K, _ V) bool {
		if !gone(key) {
			return false
		}
		forget(key)
		return true
	})
	c.known.Store(&next)
}
