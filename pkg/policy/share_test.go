package policy

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Buckets are a promise: a user who is gray today is gray with the next
// release too. Whoever changes these numbers moves every user of everyone.
func TestBucketsNeverChange(t *testing.T) {
	for _, test := range []struct {
		salt, key string
		want      Percent
	}{
		{"five-percent", "1", 9309},
		{"five-percent", "2", 6618},
		{"five-percent", "ann@example.com", 5009},
		{"five-percent", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", 1575},
		{"testers", "1", 1924},
		{"", "", 0},
		{"ü", "日本", 343},
	} {
		if got := bucketOf(hash64(test.key), hash64(test.salt)); got != test.want {
			t.Errorf("salt %q, key %q: bucket %d, want %d", test.salt, test.key, got, test.want)
		}
	}
}

// keys returns 100,000 keys of a usual form.
func keys(form string) []string {
	all := make([]string, 100_000)
	for i := range all {
		switch form {
		case "sequential ids":
			all[i] = fmt.Sprint(i + 1)
		case "uuids":
			a, b := mix(uint64(i)+1), mix(uint64(i)+1<<40)
			all[i] = fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(a), uint16(a>>32), a>>52, uint16(b)|0x8000, b>>16)
		case "e-mails":
			all[i] = fmt.Sprintf("user.%d@example%d.com", i, i%10)
		}
	}
	return all
}

func TestSharesAreAsLargeAsTheySay(t *testing.T) {
	for _, form := range []string{"sequential ids", "uuids", "e-mails"} {
		all := keys(form)
		for _, percent := range []string{"0", "0.25", "1", "5", "10", "50", "99", "100"} {
			p := mustParse(t, "rules: [{name: share, tag: gray, percent: "+percent+", by: {header: U}}]")
			var want float64
			fmt.Sscan(percent, &want)
			got := 100 * float64(len(taken(p, all))) / float64(len(all))
			switch {
			case want == 0 || want == 100:
				if got != want {
					t.Errorf("%s: %v %% of %v %%, want exactly that", form, got, want)
				}
			case math.Abs(got-want) > 0.5:
				t.Errorf("%s: %v %% of %v %%, want it within 0.5", form, got, want)
			}
		}
	}
}

func TestRaisingAShareMovesNobodyOut(t *testing.T) {
	all := keys("e-mails")
	before := map[string]bool{}
	for _, percent := range []string{"0.01", "1", "5", "10", "10.01", "50", "99.99", "100"} {
		p := mustParse(t, "rules: [{name: share, tag: gray, percent: "+percent+", by: {header: U}}]")
		now := taken(p, all)
		for key := range before {
			if !now[key] {
				t.Fatalf("%s was taken before, and not at %s %%", key, percent)
			}
		}
		before = now
	}
}

func TestTwoRulesOverlapByTheProductOfTheirShares(t *testing.T) {
	for _, form := range []string{"sequential ids", "uuids", "e-mails"} {
		all := keys(form)
		a := taken(mustParse(t, "rules: [{name: a, tag: gray, percent: 50, by: {header: U}}]"), all)
		b := taken(mustParse(t, "rules: [{name: b, tag: gray, percent: 20, by: {header: U}}]"), all)
		both := 0
		for key := range a {
			if b[key] {
				both++
			}
		}
		if got := 100 * float64(both) / float64(len(all)); math.Abs(got-10) > 0.5 {
			t.Errorf("%s: 50 %% and 20 %% overlap by %v %%, want 10", form, got)
		}
	}
}

func TestRulesWithTheSameSaltTakeTheSameUsers(t *testing.T) {
	all := keys("sequential ids")[:10_000]
	a := taken(mustParse(t, "rules: [{name: a, salt: spring, tag: gray, percent: 20, by: {header: U}}]"), all)
	b := taken(mustParse(t, "rules: [{name: b, salt: spring, tag: gray, percent: 20, by: {header: U}}]"), all)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

func TestARandomShareRollsEachTime(t *testing.T) {
	p := mustParse(t, "rules: [{name: share, tag: gray, percent: 30}]")
	const rolls = 100_000
	gray := 0
	for range rolls {
		if tag, _ := p.Tag(&Request{}); tag == Gray {
			gray++
		}
	}
	if got := 100 * float64(gray) / rolls; math.Abs(got-30) > 1 {
		t.Errorf("%v %% of the rolls, want 30", got)
	}
}

func TestTwoPartsGrowWithoutMovingAnyone(t *testing.T) {
	for _, grown := range [][]Percent{{20_00, 10_00}, {10_00, 20_00}, {60_00, 40_00}, {10_00, 90_00}} {
		before, after := partsOf([]Percent{10_00, 10_00}), partsOf(grown)
		for bucket := range before {
			if before[bucket] != noPart && after[bucket] != before[bucket] {
				t.Fatalf("with %v bucket %d moves from part %d to %d", grown, bucket, before[bucket], after[bucket])
			}
		}
	}
}

func TestARaisedPartMovesAtMostAsManyAsItGains(t *testing.T) {
	sizes := []Percent{10_00, 20_00, 5_00, 30_00}
	before := partsOf(sizes)
	for part := range sizes {
		grown := append([]Percent(nil), sizes...)
		grown[part] += 35_00
		after := partsOf(grown)
		moved := 0
		for bucket := range before {
			if before[bucket] != noPart && after[bucket] != before[bucket] {
				moved++
			}
		}
		if moved > 35_00 {
			t.Errorf("part %d gains 3500 buckets and moves %d", part, moved)
		}
	}
}

func TestPartsAreAsLargeAsTheySay(t *testing.T) {
	for _, sizes := range [][]Percent{{0}, {whole}, {1, 1}, {50_00, 50_00}, {33_33, 33_33, 33_34}, {10_00, 20_00, 30_00, 40_00}, {0, 5, 0}} {
		got := make([]Percent, len(sizes))
		for _, part := range partsOf(sizes) {
			if part != noPart {
				got[part]++
			}
		}
		if diff := cmp.Diff(sizes, got); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
	}
}

func TestARampNeverStepsBack(t *testing.T) {
	r := ramp{from: 1_00, to: 87_65, step: 33, start: time.Unix(1000, 0), over: 10 * 366 * 24 * time.Hour}
	last := Percent(0)
	for at := r.start; at.Before(r.start.Add(r.over)); at = at.Add(31 * time.Hour) {
		now := r.at(at)
		if now < last || now < r.from || now > r.to {
			t.Fatalf("%v after the start the share is %v, before it was %v", at.Sub(r.start), now, last)
		}
		last = now
	}
	if got := r.at(r.start.Add(r.over)); got != r.to {
		t.Errorf("at the end the share is %v, want %v", got, r.to)
	}
}

// taken returns the users that the rules of p take.
func taken(p *Policy, users []string) map[string]bool {
	in := map[string]bool{}
	h := &header{{"U", nil}}
	for _, user := range users {
		h[0].value = []byte(user)
		if _, rule := p.Tag(&Request{Headers: h}); rule != nil {
			in[user] = true
		}
	}
	return in
}
