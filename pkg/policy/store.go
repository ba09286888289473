package policy

import "sync/atomic"

// Store holds the policy in force. The zero Store is empty and ready to use.
type Store struct {
	current atomic.Pointer[Policy]
}

// Load returns the policy in force, nil before the first one. A request calls
// it once and keeps what it got until it ends.
func (s *Store) Load() *Policy { return s.current.Load() }

// Replace puts p in force for the requests that come from now on.
func (s *Store) Replace(p *Policy) { s.current.Store(p) }
