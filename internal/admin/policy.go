package admin

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Reloads remembers what came of reading the policy file. The zero value has seen
// nothing yet. Its methods may be called at once from many goroutines.
type Reloads struct {
	mu      sync.Mutex
	good    time.Time // when the policy in force was loaded
	refused *refusal  // nil while the file as it is now is in force
}

// refusal is new contents of the policy file that are not in force.
type refusal struct {
	At     time.Time `json:"at"`
	Faults []string  `json:"faults"` // at least one
}

// Good says that the policy file as it is now is in force.
func (r *Reloads) Good(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.good, r.refused = now, nil
}

// Bad says that the policy file as it is now was refused, and why: policy.Faults,
// or whatever else went wrong, each line of it a fault.
func (r *Reloads) Bad(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = &refusal{At: now, Faults: strings.Split(err.Error(), "\n")}
}

func (r *Reloads) last() (good time.Time, refused *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.good, r.refused
}

func (o *Options) policy() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		good, refused := o.Reloads.last()
		view := newPolicyView()
		view.LastError = refused
		if p := o.Store.Load(); p != nil {
			view.show(p, o.Now())
			view.Valid = refused == nil
		}
		if !good.IsZero() {
			age := int64(o.Now().Sub(good).Seconds())
			view.LoadedAt, view.AgeSeconds = &good, &age
		}
		writeJSON(w, view)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		answer(w, http.StatusInternalServerError, "cannot show this as JSON: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A caller that has gone is none of our business.
	_, _ = w.Write(append(body, '\n'))
}
