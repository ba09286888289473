package upstream

import (
	"cmp"
	"slices"
)

// mostTurns bounds the table of turns: weights of more distinct sizes are rounded
// to it, at no less than one turn each.
const mostTurns = 1 << 16

// turns spreads the members over one round, each as often as its weight says and
// as evenly as can be: weights of 3 and 1 give 0 0 1 0. It returns nil where all
// weights are equal: then each has one turn, in order.
func turns(weights []int) []int32 {
	if len(weights) == 0 || allEqual(weights) {
		return nil
	}
	counts := reduced(weights)
	type turn struct {
		at     float64 // place in the round, from 0 to 1
		member int32
	}
	var list []turn
	for i, n := range counts {
		for k := range n {
			list = append(list, turn{(float64(k) + 0.5) / float64(n), int32(i)})
		}
	}
	slices.SortStableFunc(list, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	order := make([]int32, len(list))
	for i := range list {
		order[i] = list[i].member
	}
	return order
}

// reduced returns the smallest numbers with the ratios of the weights, rounded
// where they would make a round of more than mostTurns.
func reduced(weights []int) []int {
	divisor, sum := 0, 0
	for _, w := range weights {
		divisor = gcd(divisor, w)
		sum += w
	}
	counts := make([]int, len(weights))
	for i, w := range weights {
		counts[i] = w / divisor
		if sum/divisor > mostTurns {
			counts[i] = max(1, int(float64(w)*mostTurns/float64(sum)+0.5))
		}
	}
	return counts
}

func allEqual(weights []int) bool {
	return !slices.ContainsFunc(weights, func(w int) bool { return w != weights[0] })
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
