package upstream

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name    string
		weights []int
		want    []int32
	}{
		{"none", nil, nil},
		{"equal weights need no table", []int{7, 7, 7}, nil},
		{"three to one", []int{3, 1}, []int32{0, 0, 1, 0}},
		{"the same in larger numbers", []int{300, 100}, []int32{0, 0, 1, 0}},
		{"two to one to one", []int{2, 1, 1}, []int32{0, 1, 2, 0}},
	} {
		if diff := cmp.Diff(turns(c.weights), c.want); diff != "" {
			t.Errorf("%s: turns differ (-got +want):\n%s", c.name, diff)
		}
	}
}

func TestTurnsAreExactAndEven(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		weights := make([]int, 2+r.IntN(20))
		sum := 0
		for i := range weights {
			weights[i] = 1 + r.IntN(50)
			sum += weights[i]
		}
		round := turns(append(weights, 1)) // a weight of 1: nothing to reduce
		sum++
		if len(round) != sum && round != nil {
			t.Fatalf("weights %v: a round of %d, want %d", weights, len(round), sum)
		}
		seen := make([]int, len(weights)+1)
		for k, member := range round {
			seen[member]++
			for i, w := range weights {
				ideal := float64(w) * float64(k+1) / float64(sum)
				if off := float64(seen[i]) - ideal; off > float64(len(weights)) || off < -float64(len(weights)) {
					t.Fatalf("weights %v: after %d turns member %d had %d, want about %v", weights, k+1, i, seen[i], ideal)
				}
			}
		}
		for i, w := range weights {
			if seen[i] != w {
				t.Errorf("weights %v: member %d has %d turns, want %d", weights, i, seen[i], w)
			}
		}
	}
}

func TestTurnsOfHugeWeightsAreBounded(t *testing.T) {
	round := turns([]int{1_000_000, 999_999, 1})
	if len(round) > mostTurns+3 {
		t.Fatalf("got %d turns, want at most %d", len(round), mostTurns+3)
	}
	seen := make([]int, 3)
	for _, member := range round {
		seen[member]++
	}
	if seen[2] != 1 {
		t.Errorf("the least has %d turns, want 1", seen[2])
	}
	if off := seen[0] - seen[1]; off < -1 || off > 1 {
		t.Errorf("nearly equal weights have %d and %d turns", seen[0], seen[1])
	}
}
