package propagate

import (
	"testing"
	"time"
)

// model is what the ledger should say, written the plain way.
type model struct {
	ttl  time.Duration
	puts map[int][]decision
}

type decision struct {
	at  time.Time
	tag string
}

func (m *model) get(now time.Time, id int) (string, bool) {
	var tag string
	ambiguous := time.Time{}
	last := time.Time{}
	for _, p := range m.puts[id] {
		if p.at.Add(m.ttl).Compare(last) > 0 && !p.at.Before(last) {
			tag, ambiguous = "", time.Time{}
		}
		if tag != "" && tag != p.tag {
			ambiguous = p.at.Add(m.ttl)
		}
		tag, last = p.tag, p.at.Add(m.ttl)
	}
	if tag == "" || !now.Before(last) || now.Before(ambiguous) {
		return "", false
	}
	return tag, true
}

func TestLedgerAgreesWithAModel(t *testing.T) {
	m := model{ttl: 10 * time.Second, puts: map[int][]decision{}}
	l := NewLedger(1000, m.ttl)
	now := start
	next := counterRand(1)
	tags := []string{"base", "gray", "blue"}
	for range 50_000 {
		now = now.Add(time.Duration(next()%20) * tickLength)
		id := int(next() % 50)
		if next()%2 == 0 {
			tag := tags[next()%20/9]
			l.Put(now, single(id), tag)
			m.puts[id] = append(m.puts[id], decision{now, tag})
			m.puts[id] = m.puts[id][max(0, len(m.puts[id])-40):]
		}
		id = int(next() % 50)
		got, ok := l.Get(now, single(id))
		want, wantOK := m.get(now, id)
		if got != want || ok != wantOK {
			t.Fatalf("id %d: got %q, %v, want %q, %v after %v", id, got, ok, want, wantOK, m.puts[id])
		}
	}
}

// counterRand is a small generator, the same on every run (SplitMix64).
func counterRand(seed uint64) func() uint64 {
	return func() uint64 {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
}
