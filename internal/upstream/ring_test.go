package upstream

import (
	"fmt"
	"testing"
)

func addressesOf(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("10.0.%d.%d:8080", i/256, i%256)
	}
	return list
}

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// owners gives the address that each of the keys 0..n is placed at.
func owners(addresses []string, weights []int, n int) []string {
	r := newRing(addresses, weights)
	list := make([]string, n)
	for key := range list {
		list[key] = addresses[r.points[r.find(uint64(key))].member]
	}
	return list
}

func TestRingSharesKeysByWeight(t *testing.T) {
	const keys = 100_000
	addresses := addressesOf(5)
	weights := []int{1, 1, 2, 2, 4}
	got := map[string]int{}
	for _, owner := range owners(addresses, weights, keys) {
		got[owner]++
	}
	for i, address := range addresses {
		want := keys * weights[i] / 10
		if got[address] < want*7/10 || got[address] > want*13/10 {
			t.Errorf("%s has %d keys, want about %d", address, got[address], want)
		}
	}
}

func TestRingMovesOnlyTheKeysOfWhoLeaves(t *testing.T) {
	const keys = 20_000
	addresses := addressesOf(10)
	before := owners(addresses, ones(10), keys)
	after := owners(append(addresses[:3:3], addresses[4:]...), ones(9), keys)
	for key := range keys {
		if before[key] != after[key] && before[key] != addresses[3] {
			t.Fatalf("key %d moved from %s to %s, though %s left", key, before[key], after[key], addresses[3])
		}
	}
}

func TestRingDoesNotDependOnOrder(t *testing.T) {
	addresses := addressesOf(4)
	before := owners(addresses, ones(4), 1000)
	after := owners([]string{addresses[2], addresses[0], addresses[3], addresses[1]}, ones(4), 1000)
	for key := range before {
		if before[key] != after[key] {
			t.Fatalf("key %d is at %s or at %s, by the order of the list", key, before[key], after[key])
		}
	}
}

func TestRingFindsEveryPlace(t *testing.T) {
	for _, n := range []int{1, 2, 3, 1000} {
		r := newRing(addressesOf(n), ones(n))
		for key := range uint64(10_000) {
			i := r.find(key)
			place := mix(key)
			before := r.points[(i+len(r.points)-1)%len(r.points)].at
			if at := r.points[i].at; at < place && i != 0 || before >= place && before < at {
				t.Fatalf("%d members: key %d at %x is given the point at %x after %x", n, key, place, at, before)
			}
		}
	}
}
