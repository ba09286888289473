package outbound_test

import "testing"

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + trace + "-00f067aa0ba902b7-01"
)

func TestWhoServesARequest(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	for _, c := range []struct {
		name, url string
		headers   []string
		status    int
		by, told  string // told: X-Gray at who served it
	}{
		{"a base request", "http://users/", nil, 200, "base", "base"},
		{"a gray request", "http://users/", []string{"X-Gray", "gray"}, 200, "gray", "gray"},
		{"a rule's request", "http://users/", []string{"X-User-Id", "7"}, 200, "gray", "gray"},
		{"a decided base request is not decided again", "http://users/", []string{"X-Gray", "base", "X-User-Id", "7"}, 200, "base", "base"},
		{"another tag falls back to base and keeps its tag", "http://users/", []string{"X-Gray", "blue"}, 200, "base", "blue"},
		{"gray falls back where there is no gray", "http://orders/", []string{"X-Gray", "gray"}, 200, "base", "gray"},
		{"no fallback: gray is served", "http://strict/", []string{"X-Gray", "gray"}, 200, "gray", "gray"},
		{"no fallback: another tag is not", "http://strict/", []string{"X-Gray", "blue"}, 503, "unavailable", ""},
		{"a service without versions is marked", "http://" + base.addr + "/", []string{"X-Gray", "gray"}, 200, "base", "gray"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, by := p.get(t, c.url, c.headers...)
			if status != c.status || by != c.by {
				t.Fatalf("got %d by %q, want %d by %q", status, by, c.status, c.by)
			}
			if c.told == "" {
				return
			}
			served := map[string]*origin{"base": base, "gray": gray}[c.by]
			if got := served.got("X-Gray"); got != c.told {
				t.Errorf("X-Gray at who served it: got %q, want %q", got, c.told)
			}
		})
	}
}

func TestNothingOfOursReachesAStranger(t *testing.T) {
	base, gray, stranger := newOrigin(t, "base"), newOrigin(t, "gray"), newOrigin(t, "stranger")
	p := newPod(t, shop(base, gray))
	status, by := p.get(t, "http://"+stranger.addr+"/",
		"X-Gray", "gray", "Baggage", "a=1,x-gray=gray", "Traceparent", parent, "Tracestate", "b=2,graylane=gray")
	if status != 200 || by != "stranger" {
		t.Fatalf("got %d by %q, want 200 by stranger", status, by)
	}
	for name, want := range map[string]string{
		"X-Gray": "", "Baggage": "a=1", "Tracestate": "b=2", "Traceparent": parent, "X-Request-Id": "",
	} {
		if got := stranger.got(name); got != want {
			t.Errorf("%s at the stranger: got %q, want %q", name, got, want)
		}
	}
}

func TestGrayThatIsDownFallsBackAndKeepsItsTag(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	gray.stop()
	if status, by := p.get(t, "http://users/", "X-Gray", "gray"); status != 200 || by != "base" {
		t.Fatalf("got %d by %q, want 200 by base", status, by)
	}
	if got := base.got("X-Gray"); got != "gray" {
		t.Errorf("X-Gray at base: got %q, want gray", got)
	}
	if status, by := p.get(t, "http://strict/", "X-Gray", "gray"); status != 503 || by != "unavailable" {
		t.Errorf("without fallback: got %d by %q, want 503 by unavailable", status, by)
	}
}

func TestBaseThatIsDownNeverGoesToGray(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	base.stop()
	for range 20 {
		if status, by := p.get(t, "http://users/"); status != 503 || by != "unavailable" {
			t.Fatalf("got %d by %q, want 503 by unavailable", status, by)
		}
	}
	if got := gray.hits.Load(); got != 0 {
		t.Errorf("%d base requests reached gray", got)
	}
}

func TestCallsBelongToTheInboundRequestWithTheirTraceID(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	p.remember("gray", parent)
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "gray" {
		t.Errorf("a call under the gray trace went to %s", by)
	}
	if _, by := p.get(t, "http://users/"); by != "base" {
		t.Errorf("a call without a trace went to %s", by)
	}
}

func TestCallsOfOneTraceAreDecidedOnce(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	p.get(t, "http://users/", "Traceparent", parent, "X-User-Id", "7")
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "gray" {
		t.Errorf("the second call of the trace went to %s, want gray", by)
	}
}

func TestPodsOwnTagAnswersWhereNothingElseDoes(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray), ofGray)
	if _, by := p.get(t, "http://users/"); by != "gray" {
		t.Errorf("a call of a gray pod went to %s", by)
	}
	if _, by := p.get(t, "http://users/", "X-Gray", "base"); by != "base" {
		t.Errorf("a call marked base went to %s", by)
	}
}

func TestOffMeansBaseForEveryone(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray), ofGray)
	p.apply(t, "enabled: false\n"+shop(base, gray))
	if _, by := p.get(t, "http://users/", "X-Gray", "gray", "X-User-Id", "7"); by != "base" {
		t.Errorf("a gray call went to %s", by)
	}
	if got := base.got("X-Gray"); got != "base" {
		t.Errorf("X-Gray at base: got %q, want base", got)
	}
}

func TestFirstCallThatARuleTakesDecidesForTheTrace(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, "decide: first-match\n"+shop(base, gray))
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "base" || base.got("X-Gray") != "" {
		t.Errorf("an undecided call went to %s with the tag %q, want base and none", by, base.got("X-Gray"))
	}
	if _, by := p.get(t, "http://users/", "Traceparent", parent, "X-User-Id", "7"); by != "gray" {
		t.Errorf("the call that a rule takes went to %s, want gray", by)
	}
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "gray" {
		t.Errorf("the next call of the trace went to %s, want gray", by)
	}
}

func TestWithoutPolicyTheAppIsToldWhy(t *testing.T) {
	if status, by := newPod(t, "").get(t, "http://users/"); status != 503 || by != "no_policy" {
		t.Errorf("got %d by %q, want 503 by no_policy", status, by)
	}
}
