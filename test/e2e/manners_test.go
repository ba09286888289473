package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// manners is how an app answers from now on; a test changes it by POST /behave:
//
//	status=503   with this status
//	delay=50ms   after this time
//	hang=true    not at all
//	cut=true     by closing the connection
//	health=503   GET /health with this status
//
// What is left out is as it should be.
type manners struct{ now atomic.Pointer[behaviour] }

type behaviour struct {
	status, health int
	delay          time.Duration
	hang, cut      bool
}

func (a *app) behave(_ http.ResponseWriter, r *http.Request) {
	b := &behaviour{hang: r.FormValue("hang") != "", cut: r.FormValue("cut") != ""}
	b.status, _ = strconv.Atoi(r.FormValue("status"))
	b.health, _ = strconv.Atoi(r.FormValue("health"))
	b.delay, _ = time.ParseDuration(r.FormValue("delay"))
	a.manners.now.Store(b)
}

// misbehaves answers a request in another way than the app should, and says so.
func (a *app) misbehaves(w http.ResponseWriter, r *http.Request) bool {
	if a.Strays != "" && r.Header.Get("X-Gray") != a.Tag {
		a.noteStray(r)
	}
	b := a.manners.now.Load()
	switch {
	case b == nil:
		return false
	case b.hang:
		<-r.Context().Done()
		return true
	case b.cut:
		panic(http.ErrAbortHandler)
	}
	time.Sleep(b.delay)
	if b.status == 0 {
		return false
	}
	http.Error(w, "as told", b.status)
	return true
}

func (a *app) health(w http.ResponseWriter, _ *http.Request) {
	if b := a.manners.now.Load(); b != nil && b.health != 0 {
		w.WriteHeader(b.health)
	}
}

// noteStray writes to a file, which outlives an app that is killed.
func (a *app) noteStray(r *http.Request) {
	f, err := os.OpenFile(a.Strays, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s: %s with X-Gray %q\n", a.Pod, r.RequestURI, r.Header.Get("X-Gray")); err != nil {
		panic(err)
	}
}
