package peers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"graylane/pkg/propagate"
)

var wire = propagate.Wire{Header: "X-Gray"}

func unknown([]byte) (string, bool) { return "", false }

func theirBaggage(h head) baggage.Baggage {
	ctx := propagation.Baggage{}.Extract(context.Background(), propagation.HeaderCarrier(h))
	return baggage.FromContext(ctx)
}

// randomMember is a baggage member of somebody, valid or nearly so.
func randomMember(r *rand.Rand, n int) string {
	return spoil(r, fmt.Sprintf("%s%d=%s%s", pick(r, "k", "user.id", "a-b"), n, pick(r, "1", "", "a%20b", "%E2%82%AC", "x=y"), pick(r, "", "", ";p", ";ttl=5 ; q")))
}

func TestTheBaggageMemberIsReadAsOpenTelemetryReadsIt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := carrier(t, propagate.Config{})
	read := 0
	for range rounds {
		tag := pick(r, "gray", "base", "pr-142", "%67ray", "gr%61y", "gray%0d%0a", "a b", "Gray", "gray%", "")
		list := []string{randomMember(r, 1), "x-gray" + pick(r, "", " ", "\t") + "=" + pick(r, "", " ") + tag + pick(r, "", " ", ";p", " ; p=1"), randomMember(r, 2)}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		h := head{}
		cut := r.IntN(len(list) + 1)
		for _, line := range [][]string{list[:cut], list[cut:]} {
			if len(line) > 0 {
				add(h, "baggage", strings.Join(line, pick(r, ",", ", ", " ,")))
			}
		}
		got, _, _ := c.Read(h, &wire, unknown)
		want := theirBaggage(h).Member("x-gray").Value()
		if got != want && (got != "" || isTag(want)) {
			t.Errorf("%q: got %q, want %q", h["Baggage"], got, want)
		}
		if got != "" {
			read++
		}
	}
	if read < rounds/10 {
		t.Errorf("only %d of %d had a tag", read, rounds)
	}
}

// add adds a field line as a server reads it: the spaces around are no part of the value.
func add(h head, name, value string) { http.Header(h).Add(name, strings.Trim(value, " \t")) }

func isTag(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func TestOpenTelemetryFindsEveryMemberThatItFoundBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	c := carrier(t, propagate.Config{})
	for range rounds / 10 {
		h := head{}
		for range 1 + r.IntN(3) {
			list := make([]string, r.IntN(8))
			for i := range list {
				list[i] = randomMember(r, r.IntN(1000))
			}
			add(h, "baggage", strings.Join(list, pick(r, ",", ", ", " ,\t")))
		}
		before := theirBaggage(h)
		c.Write(h, &wire, "gray")
		after := theirBaggage(h)
		if got := after.Member("x-gray").Value(); got != "gray" {
			t.Errorf("they read tag %q from %q", got, h["Baggage"])
		}
		if diff := cmp.Diff(after.DeleteMember("x-gray").String(), before.String(), cmp.Transformer("members", split)); diff != "" {
			t.Errorf("%q: got -, want +\n%s", h["Baggage"], diff)
		}
		c.Strip(h, &wire)
		if diff := cmp.Diff(theirBaggage(h).String(), before.String(), cmp.Transformer("members", split)); diff != "" {
			t.Errorf("%q, stripped: got -, want +\n%s", h["Baggage"], diff)
		}
	}
}

// split makes a set of the members: OpenTelemetry writes them in any order.
func split(s string) map[string]bool {
	set := map[string]bool{}
	for m := range strings.SplitSeq(s, ",") {
		set[m] = true
	}
	return set
}

func TestOpenTelemetryReadsATracestateOfAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	c := carrier(t, propagate.Config{})
	for range rounds / 10 {
		members := make([]string, r.IntN(33))
		for i := range members {
			members[i] = fmt.Sprintf("%s%d=%s", pick(r, "v", "t@v"), i, strings.Repeat("x", 1+r.IntN(r.IntN(200)+1)))
		}
		was := strings.Join(members, pick(r, ",", ", "))
		h := head{"Tracestate": {was}}
		c.Write(h, &wire, "gray")
		got := http.Header(h).Get("tracestate")
		state, err := trace.ParseTraceState(got)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if state.Get("graylane") != "gray" || !strings.HasPrefix(got, "graylane=gray") || len(got) > 512 || state.Len() > 32 {
			t.Errorf("%q: %d members, %d bytes", got, state.Len(), len(got))
		}
		if fits := len("graylane=gray,")+len(was) <= 512 && len(members) < 32; fits && state.Len() != len(members)+1 {
			t.Errorf("%q became %q", was, got)
		}
	}
}
