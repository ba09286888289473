package metrics_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/metrics"
)

// fallback is a record that has a value for every key of the access log.
func fallback() *metrics.Record {
	return &metrics.Record{
		Direction: metrics.Outbound, Service: "users", Version: "base", Tag: "pr-142", Unnamed: true, Source: "header",
		Reason: "no_version", Fallback: true, Endpoint: "10.0.0.1:15006", Error: "origin_closed", Status: 502, Took: 1500 * time.Microsecond,
		Inputs: map[string]string{"host": "users"},
		Peer:   netip.MustParseAddrPort("127.0.0.1:4711"),
		Trace:  []byte("4bf92f3577b34da6a3ce929d0e0e4736"), Method: []byte("GET"), Host: []byte("users:80"), Path: []byte("/a b"),
	}
}

func TestTheAccessLogInJSON(t *testing.T) {
	m, out := metrics.New("v1"), &bytes.Buffer{}
	m.AccessLog(slog.New(slog.NewJSONHandler(out, nil)))
	m.Record(fallback())
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	delete(got, slog.TimeKey)
	want := map[string]any{
		"level": "INFO", "msg": "request", "direction": "outbound", "service": "users", "version": "base", "tag": "pr-142",
		"source": "header", "reason": "no_version", "trace": "4bf92f3577b34da6a3ce929d0e0e4736", "peer": "127.0.0.1:4711",
		"method": "GET", "host": "users:80", "path": "/a b", "status": 502.0, "duration": 1.5e6,
		"endpoint": "10.0.0.1:15006", "error": "origin_closed", "inputs": map[string]any{"host": "users"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("the line (got -, want +):\n%s", diff)
	}
}

func TestTheAccessLogInText(t *testing.T) {
	m, out := metrics.New("v1"), &bytes.Buffer{}
	m.AccessLog(slog.New(slog.NewTextHandler(out, nil)))
	m.Record(fallback())
	got := regexp.MustCompile(`^time=\S+ `).ReplaceAllString(out.String(), "")
	want := `level=INFO msg=request direction=outbound service=users version=base tag=pr-142 source=header reason=no_version ` +
		`trace=4bf92f3577b34da6a3ce929d0e0e4736 peer=127.0.0.1:4711 method=GET host=users:80 path="/a b" status=502 ` +
		`duration=1.5ms endpoint=10.0.0.1:15006 error=origin_closed inputs=map[host:users]` + "\n"
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestTheAccessLogHasItsKeysAlsoWhereThereIsNothingToSay(t *testing.T) {
	m, out := metrics.New("v1"), &bytes.Buffer{}
	m.AccessLog(slog.New(slog.NewTextHandler(out, nil)))
	m.Record(&metrics.Record{})
	got := regexp.MustCompile(`(\w+)=`).FindAllStringSubmatch(out.String(), -1)
	var keys []string
	for _, found := range got {
		keys = append(keys, found[1])
	}
	want := "time level msg direction service version tag source reason trace peer method host path status duration endpoint error"
	if diff := cmp.Diff(strings.Join(keys, " "), want); diff != "" {
		t.Errorf("keys (got -, want +):\n%s", diff)
	}
}

func TestATagThatThePolicyDoesNotNameIsCountedAsOther(t *testing.T) {
	m := metrics.New("v1")
	m.Record(fallback())
	named := fallback()
	named.Unnamed, named.Error = false, ""
	m.Record(named)
	page := scrape(t, m)
	for _, tag := range []string{"other", "pr-142"} {
		for _, want := range []string{
			`graylane_requests_total{class="5xx",direction="outbound",reason="no_version",service="users",tag="` + tag + `"} 1`,
			`graylane_fallback_total{reason="no_version",service="users",tag="` + tag + `"} 1`,
		} {
			if !strings.Contains(page, want+"\n") {
				t.Errorf("the page lacks %s", want)
			}
		}
	}
	for _, want := range []string{
		`graylane_tag_source_total{direction="outbound",source="header"} 2`,
		`graylane_errors_total{direction="outbound",error="origin_closed"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestARecordOfAnUnmarkedRequestCountsNoSource(t *testing.T) {
	m := metrics.New("v1")
	m.Record(&metrics.Record{Direction: metrics.Inbound, Reason: "unavailable", Error: "no_policy", Status: 503})
	page := scrape(t, m)
	for _, lack := range []string{"graylane_tag_source_total{", "graylane_fallback_total{"} {
		if strings.Contains(page, lack) {
			t.Errorf("the page has %s", lack)
		}
	}
}

func TestARecordAllocatesNothing(t *testing.T) {
	m, record := metrics.New("v1"), fallback()
	m.Record(record) // the first of its kind may
	if got := testing.AllocsPerRun(1000, func() { m.Record(record) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
