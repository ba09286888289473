package discovery

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/upstream"
)

// answer is what a question is answered with, one after the other.
type answer struct {
	targets []upstream.Target
	ttl     time.Duration
	err     error
}

// asked polls with these answers and returns when each was asked for, in seconds,
// and what the sink has heard.
func asked(t *testing.T, answers ...answer) ([]float64, *sink) {
	t.Helper()
	var at []float64
	to := &sink{}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		poll(ctx, func(context.Context) ([]upstream.Target, time.Duration, error) {
			a := answers[len(at)]
			at = append(at, time.Since(begin).Seconds())
			if len(at) == len(answers) {
				stop()
			}
			return a.targets, a.ttl, a.err
		}, to, nil)
	})
	return at, to
}

// TestPollAsksAgainAtOnceWhenTheAnswerIsInDoubt doubts 10 s after the first answer, and
// once more as soon as the second is there.
func TestPollAsksAgainAtOnceWhenTheAnswerIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, doubts := time.Now(), make(chan struct{}, 1)
		ctx, stop := context.WithCancel(t.Context())
		var at []float64
		go func() {
			time.Sleep(10 * time.Second)
			doubts <- struct{}{}
			synctest.Wait()
			doubts <- struct{}{}
		}()
		poll(ctx, func(context.Context) ([]upstream.Target, time.Duration, error) {
			if at = append(at, time.Since(begin).Seconds()); len(at) == 4 {
				stop()
			}
			return targetsOf("a:1"), 30 * time.Second, nil
		}, &sink{}, doubts)
		if diff := cmp.Diff(at, []float64{0, 10, 11, 41}); diff != "" {
			t.Errorf("asked at other times (-got +want):\n%s", diff)
		}
	})
}

// Who sends a request and finds nobody need not wait for the pause to be over.
func TestPollAsksAgainAtOnceForWhoIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, doubts := time.Now(), make(chan struct{}, 1)
		ctx, stop := context.WithCancel(t.Context())
		var at []float64
		go func() {
			time.Sleep(7 * time.Second)
			doubts <- struct{}{}
		}()
		poll(ctx, func(context.Context) ([]upstream.Target, time.Duration, error) {
			if at = append(at, time.Since(begin).Seconds()); len(at) == 4 {
				stop()
			}
			return nil, time.Hour, nil
		}, &sink{}, doubts)
		if diff := cmp.Diff(at, []float64{0, 5, 7, 12}); diff != "" {
			t.Errorf("asked at other times (-got +want):\n%s", diff)
		}
	})
}

// Name servers that are down are asked in pauses that double, however many endpoints
// are not there.
func TestPollIsInNoMoreDoubtThanAFailureLeavesItIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, doubts := time.Now(), make(chan struct{}, 1)
		ctx, stop := context.WithCancel(t.Context())
		var at []float64
		poll(ctx, func(context.Context) ([]upstream.Target, time.Duration, error) {
			if at = append(at, time.Since(begin).Seconds()); len(at) == 5 {
				stop()
			}
			select {
			case doubts <- struct{}{}:
			default:
			}
			if len(at) == 4 {
				return targetsOf("a:1"), 30 * time.Second, nil
			}
			return nil, 0, errors.New("SERVFAIL")
		}, &sink{}, doubts)
		if diff := cmp.Diff(at, []float64{0, 1, 3, 7, 8}); diff != "" {
			t.Errorf("asked at other times (-got +want):\n%s", diff)
		}
	})
}

func TestPollAsksAgainWhenTheAnswerIsGoodNoLonger(t *testing.T) {
	some := targetsOf("a:1")
	bad := errors.New("SERVFAIL")
	for _, c := range []struct {
		name    string
		answers []answer
		want    []float64
	}{
		{"after the TTL", []answer{{some, 7 * time.Second, nil}, {some, 2 * time.Second, nil}, {}}, []float64{0, 7, 9}},
		{"not without a pause", []answer{{some, 0, nil}, {some, 0, nil}, {}}, []float64{0, 1, 2}},
		{"not later than in five minutes", []answer{{some, time.Hour, nil}, {}}, []float64{0, 300}},
		{"soon where there is nothing", []answer{{nil, time.Hour, nil}, {}}, []float64{0, 5}},
		{"after failures in pauses that double", []answer{{err: bad}, {err: bad}, {err: bad}, {err: bad}, {err: bad}, {err: bad}, {}}, []float64{0, 1, 3, 7, 15, 25, 35}},
		{"soon where there is nothing that is needed", []answer{{err: errNoAddress}, {err: errNoAddress}, {err: errNoAddress}, {err: errNoAddress}, {err: errNoAddress}, {}}, []float64{0, 1, 2, 3, 4, 5}},
		{"after an answer the pauses begin anew", []answer{{err: bad}, {err: bad}, {some, time.Second, nil}, {err: bad}, {}}, []float64{0, 1, 3, 4, 5}},
	} {
		got, _ := asked(t, c.answers...)
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%s: asked at other times (-got +want):\n%s", c.name, diff)
		}
	}
}

func TestPollTellsAnswersAndFailures(t *testing.T) {
	_, to := asked(t, answer{targetsOf("a:1"), time.Second, nil}, answer{err: errors.New("one")}, answer{err: errors.New("two")},
		answer{targetsOf("b:1"), time.Second, nil}, answer{})
	if sets, errs := to.counts(); sets != 2 || errs != 2 {
		t.Errorf("got %d sets and %d failures, want 2 and 2", sets, errs)
	}
	if diff := cmp.Diff(to.last(), []string{"b:1"}); diff != "" {
		t.Errorf("last set differs (-got +want):\n%s", diff)
	}
}
