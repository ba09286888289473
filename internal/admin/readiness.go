package admin

import (
	"fmt"
	"slices"
	"sync"
)

// draining is the task that is pending from Drain on.
const draining = "draining"

// Readiness is the named tasks that must be done before a sidecar may get
// requests. Its methods may be called at once from many goroutines.
type Readiness struct {
	mu       sync.Mutex
	tasks    []string // in order
	done     map[string]bool
	draining bool
}

// NewReadiness starts with every task pending.
func NewReadiness(tasks ...string) *Readiness {
	return &Readiness{tasks: tasks, done: make(map[string]bool)}
}

// Done says that the task is done. It panics on a name that NewReadiness was not
// given, since such a sidecar would never get ready.
func (r *Readiness) Done(task string) {
	if !slices.Contains(r.tasks, task) {
		panic(fmt.Sprintf("readiness has no task %q", task))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[task] = true
}

// Drain makes the sidecar unready for good: Pending has "draining" from now on.
func (r *Readiness) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// Pending lists the tasks that are not done, in order; none means ready.
func (r *Readiness) Pending() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pending []string
	for _, task := range r.tasks {
		if !r.done[task] {
			pending = append(pending, task)
		}
	}
	if r.draining {
		pending = append(pending, draining)
	}
	return pending
}
