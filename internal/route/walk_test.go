package route_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/http1"
)

// What became of a try.
var (
	refused = &http1.Error{Op: "connect", Reason: http1.ConnectRefused, Retryable: true}
	// died is an app that has closed the connection under what may be repeated; lost is
	// one under what may not.
	died = &http1.Error{Op: "receive", Reason: http1.OriginClosed, Repeatable: true}
	lost = &http1.Error{Op: "receive", Reason: http1.OriginClosed}
	late = &http1.Error{Op: "receive", Reason: http1.HeaderTimeout}
)

// TestTheWalk tells, try by try, where a request goes.
func TestTheWalk(t *testing.T) {
	for name, tt := range map[string]struct {
		keys  string // of the service
		tag   string // of the request
		tries []error
		want  walk
	}{
		"the first endpoint serves it": {
			tag: "gray", tries: []error{nil},
			want: walk{to: "gray", got: "200", reason: "matched"},
		},
		"the next endpoint of its version": {
			tag: "gray", tries: []error{refused, nil},
			want: walk{to: "gray gray", got: "200", reason: "matched"},
		},
		"then base, since none of its version could be reached": {
			tag: "gray", tries: []error{refused, refused, nil},
			want: walk{to: "gray gray base", got: "200", reason: "all_refused", fallback: true},
		},
		"no retries: one endpoint of each version": {
			keys: "    retry: {attempts: 0}\n", tag: "gray", tries: []error{refused, nil},
			want: walk{to: "gray base", got: "200", reason: "all_refused", fallback: true},
		},
		"never another tag": {
			tag: "gray", tries: []error{refused, refused, refused, refused},
			want: walk{to: "gray gray base base", got: "503 unavailable", reason: "unavailable", err: "unavailable"},
		},
		"never gray for base": {
			tag: "base", tries: []error{refused, refused},
			want: walk{to: "base base", got: "503 unavailable", reason: "unavailable", err: "unavailable"},
		},
		"nowhere else, as the service wants it": {
			keys: "    fallback: none\n", tag: "gray", tries: []error{refused, refused},
			want: walk{to: "gray gray", got: "503 unavailable", reason: "unavailable", err: "unavailable"},
		},
		"nowhere else, since it may have been served": {
			tag: "gray", tries: []error{lost},
			want: walk{to: "gray", got: "502 origin_closed", reason: "matched", err: "origin_closed"},
		},
		"nowhere else, since the app has it still": {
			tag: "gray", tries: []error{late},
			want: walk{to: "gray", got: "504 header_timeout", reason: "matched", err: "header_timeout"},
		},
		"what may be repeated is": {
			tag: "gray", tries: []error{died, nil},
			want: walk{to: "gray gray", got: "200", reason: "matched"},
		},
		"also at base": {
			tag: "gray", tries: []error{died, died, nil},
			want: walk{to: "gray gray base", got: "200", reason: "all_refused", fallback: true},
		},
		"but not for ever": {
			tag: "gray", tries: []error{died, died, died},
			want: walk{to: "gray gray base", got: "502 origin_closed", reason: "all_refused", fallback: true, err: "origin_closed"},
		},
		"once, where there are no retries": {
			keys: "    retry: {attempts: 0}\n", tag: "gray", tries: []error{died, died},
			want: walk{to: "gray base", got: "502 origin_closed", reason: "all_refused", fallback: true, err: "origin_closed"},
		},
		"who was not reached kills nobody": {
			tag: "gray", tries: []error{refused, died, died, nil},
			want: walk{to: "gray gray base base", got: "200", reason: "all_refused", fallback: true},
		},
		"what the last one did is the answer": {
			tag: "gray", tries: []error{refused, lost},
			want: walk{to: "gray gray", got: "502 origin_closed", reason: "matched", err: "origin_closed"},
		},
		"also where there is no other version": {
			tag: "base", tries: []error{refused, died},
			want: walk{to: "base base", got: "502 origin_closed", reason: "unavailable", err: "origin_closed"},
		},
		"base, where the last endpoint has just gone": {
			tag: "empty", tries: []error{nil},
			want: walk{to: "base", got: "200", reason: "all_refused", fallback: true},
		},
		"nowhere, where the last endpoint has just gone": {
			keys: "    fallback: none\n", tag: "empty",
			want: walk{got: "503 unavailable", reason: "unavailable", err: "unavailable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := newRig(t, tt.keys).send(t, tt.tag, &exchange{tries: tt.tries})
			if diff := cmp.Diff(got, tt.want, cmp.AllowUnexported(walk{})); diff != "" {
				t.Errorf("the walk differs (-got +want):\n%s", diff)
			}
		})
	}
}

func TestTheCallerIsToldWhyNothingServedIt(t *testing.T) {
	for name, tt := range map[string]struct {
		tag   string
		tries []error
		want  string
	}{
		"there was nothing":         {tag: "other", want: "no version of the service may serve this request now"},
		"there is nothing any more": {tag: "empty", want: "no version of the service may serve this request now"},
		"nothing could be reached":  {tag: "gray", tries: []error{refused, refused}, want: "could be reached: connect_refused"},
		"nothing is known about it": {tag: "unbound", want: "the version has no endpoint table"},
	} {
		t.Run(name, func(t *testing.T) {
			x := &exchange{tries: tt.tries}
			newRig(t, "    fallback: none\n").send(t, tt.tag, x)
			if !strings.Contains(x.text, tt.want) {
				t.Errorf("got %q, want %q in it", x.text, tt.want)
			}
		})
	}
}

func TestWhereAllAreFullNothingElseIsTried(t *testing.T) {
	r := newRig(t, "    limit: {requests: 1}\n")
	r.occupy(t, "gray", 2)
	got := r.send(t, "gray", &exchange{})
	if want := (walk{got: "503 overloaded", reason: "unavailable", err: "overloaded"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// That one could not be reached is what operators have to hear of.
func TestAfterARefusalItDoesNotMatterThatTheRestIsFull(t *testing.T) {
	r := newRig(t, "    limit: {requests: 1}\n    fallback: none\n")
	r.occupy(t, "gray", 1)
	got := r.send(t, "gray", &exchange{tries: []error{refused}})
	if want := (walk{to: "gray", got: "503 unavailable", reason: "unavailable", err: "unavailable"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestACallerThatHasLeftIsTakenNowhereElse(t *testing.T) {
	r := newRig(t, "    limit: {requests: 1, wait: 1m}\n")
	r.occupy(t, "gray", 1)
	gone := make(chan struct{})
	close(gone)
	got := r.send(t, "gray", &exchange{tries: []error{refused}, gone: gone})
	if want := (walk{to: "gray", got: "0 caller_gone", reason: "matched", err: "caller_gone"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheTableHearsWhatBecameOfEachTry(t *testing.T) {
	r := newRig(t, "    retry: {attempts: 0}\n    fallback: none\n")
	var doubts int
	r.groups["gray"].OnDoubt(func() { doubts++ })
	r.send(t, "gray", &exchange{waited: 20 * time.Millisecond, leaving: true})
	if doubts != 1 {
		t.Errorf("got %d doubts in who is there after the reply of one that leaves, want 1", doubts)
	}
	var slow []string
	for _, s := range r.table.Status() {
		if s.LatencyMS > 0 {
			slow = append(slow, fmt.Sprint(s.Tag, " ", s.LatencyMS))
		}
	}
	if diff := cmp.Diff(slow, []string{"gray 20"}); diff != "" {
		t.Errorf("the latencies differ (-got +want):\n%s", diff)
	}
	for range 10 {
		r.send(t, "gray", &exchange{status: 503})
	}
	r.send(t, "blue", &exchange{tries: []error{refused}})
	for _, s := range r.table.Status() {
		if s.Tag == "blue" && s.Failures != 1 {
			t.Errorf("got %d failures of who refused a request, want 1", s.Failures)
		}
	}
	if _, usable := r.groups["gray"].Counts(); usable == 2 {
		t.Error("who answers 503 again and again is as good as before")
	}
}

func TestACONNECTForUsEndsAtTheEndpoint(t *testing.T) {
	for name, tt := range map[string]struct {
		x    exchange
		want string
	}{
		"a request":             {exchange{}, "gray"},
		"a CONNECT":             {exchange{connect: true}, "tunnel:gray"},
		"a CONNECT in a tunnel": {exchange{connect: true, via: []byte("proxy:80")}, "gray"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newRig(t, "").send(t, "gray", &tt.x); got.to != tt.want {
				t.Errorf("got %q, want %q", got.to, tt.want)
			}
		})
	}
}
