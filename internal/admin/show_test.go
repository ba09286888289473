package admin_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/admin"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

func TestThePolicyInForceIsShown(t *testing.T) {
	loaded := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := options()
	o.Now = func() time.Time { return loaded.Add(90 * time.Second) }
	o.Reloads.Good(loaded)
	p, err := policy.Load("testdata/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o.Store.Replace(p)
	want, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	reply := get(t, admin.New(o), "/policy")
	if diff := cmp.Diff(reply.Body.String(), string(want)); diff != "" {
		t.Errorf("the reply (got -, want +):\n%s", diff)
	}
	if got := reply.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("got type %s, want application/json", got)
	}
}

// A key that the language gets must be shown, or belong to what is put in words.
func TestEveryKeyOfThePolicyIsShown(t *testing.T) {
	text, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties  map[string]any
		Definitions map[string]struct {
			Properties map[string]any
			AnyOf      []struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(policy.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := maps.Clone(schema.Properties)
	delete(keys, "apiVersion") // there is one
	inWords := []string{"Rule", "Active", "Match", "Path", "Value", "ValuesFrom", "Part", "Ramp", "By"}
	for name, d := range schema.Definitions {
		if slices.Contains(inWords, name) {
			continue
		}
		maps.Copy(keys, d.Properties)
		for _, form := range d.AnyOf {
			maps.Copy(keys, form.Properties)
		}
	}
	for key := range keys {
		if !strings.Contains(string(text), `"`+key+`": `) {
			t.Errorf("/policy does not show %s", key)
		}
	}
	if len(keys) < 50 {
		t.Errorf("the schema names %d keys, want 50 or more: is it read right?", len(keys))
	}
}

func TestABadPolicyIsShownBesideTheLastGoodOne(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	type shown struct {
		Digest    string
		Valid     bool
		LoadedAt  *time.Time
		LastError *struct {
			At     time.Time
			Faults []string
		}
	}
	faults := policy.Faults{
		{File: "p.yaml", Line: 1, Column: 2, Where: "header", What: "unknown"},
		{File: "p.yaml", Line: 3, Column: 4, What: "also"},
	}
	o := options()
	h := admin.New(o)

	before := decode[shown](t, get(t, h, "/policy"))
	if diff := cmp.Diff(before, shown{}); diff != "" {
		t.Errorf("before the first policy (got -, want +):\n%s", diff)
	}

	o.Reloads.Bad(at, faults)
	bad := decode[shown](t, get(t, h, "/policy"))
	if bad.Valid || bad.LastError == nil {
		t.Fatalf("got %+v, want an invalid policy with its faults", bad)
	}
	if diff := cmp.Diff(bad.LastError.Faults, []string{"p.yaml:1:2: header: unknown", "p.yaml:3:4: also"}); diff != "" {
		t.Errorf("faults (got -, want +):\n%s", diff)
	}

	o.Store.Replace(&policy.Policy{Digest: "aaa"})
	o.Reloads.Good(at)
	o.Reloads.Bad(at.Add(time.Minute), errors.New("p.yaml: no such file"))
	kept := decode[shown](t, get(t, h, "/policy"))
	if kept.Digest != "aaa" || kept.Valid || kept.LoadedAt == nil || !kept.LoadedAt.Equal(at) {
		t.Errorf("got %+v, want the good policy of before, not valid", kept)
	}

	o.Reloads.Good(at.Add(2 * time.Minute))
	healed := decode[shown](t, get(t, h, "/policy"))
	if !healed.Valid || healed.LastError != nil {
		t.Errorf("got %+v, want a valid policy without an error", healed)
	}
}

func TestEndpointsAreShownAsJSONOrAsATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for its clock
		o := options()
		next := o.Table.Begin()
		next.Group(upstream.Version{Service: "users", Tag: "gray", Targets: []upstream.Target{{Address: "127.0.0.1:9002", Weight: 1}}, Protocol: upstream.ProtocolH2C})
		next.Group(upstream.Version{Service: "users", Tag: "base", Targets: []upstream.Target{{Address: "127.0.0.1:9001", Weight: 2, Zone: "z1"}}})
		next.Commit()
		h := admin.New(o)

		type endpoint struct{ Service, Tag, Address string }
		list := decode[struct{ Endpoints []endpoint }](t, get(t, h, "/endpoints?format=json")).Endpoints
		want := []endpoint{{"users", "base", "127.0.0.1:9001"}, {"users", "gray", "127.0.0.1:9002"}}
		if diff := cmp.Diff(list, want); diff != "" {
			t.Errorf("endpoints (got -, want +):\n%s", diff)
		}

		table := get(t, h, "/endpoints").Body.String()
		wantTable := "" +
			"SERVICE  TAG   ADDRESS         PROTOCOL  ZONE  WEIGHT  STATE  SINCE  IN FLIGHT  LATENCY  REQUESTS  FAILURES  WHY\n" +
			"users    base  127.0.0.1:9001  http1     z1    2       ok     0s     0          -        0         0         -\n" +
			"users    gray  127.0.0.1:9002  h2c       -     1       ok     0s     0          -        0         0         -\n"
		if diff := cmp.Diff(table, wantTable); diff != "" {
			t.Errorf("table (got -, want +):\n%s", diff)
		}
	})
}

func TestProgramsAskForEndpointsAsJSON(t *testing.T) {
	h := admin.New(options())
	for _, test := range []struct {
		name, query string
		accept      []string
		status      int
		want        string // content type
	}{
		{"curl", "", []string{"*/*"}, 200, "text/plain; charset=utf-8"},
		{"a browser", "", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, 200, "text/plain; charset=utf-8"},
		{"a program that says nothing", "", nil, 200, "text/plain; charset=utf-8"},
		{"a program that accepts JSON", "", []string{"application/json"}, 200, "application/json"},
		{"a program that prefers JSON", "", []string{"application/json, text/plain, */*"}, 200, "application/json"},
		{"a program that accepts JSON in a second line", "", []string{"application/yaml", "application/json"}, 200, "application/json"},
		{"curl with a format", "?format=json", []string{"*/*"}, 200, "application/json"},
		{"a format against what is accepted", "?format=table", []string{"application/json"}, 200, "text/plain; charset=utf-8"},
		{"a format that is none", "?format=xml", nil, 400, "text/plain; charset=utf-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "http://localhost/endpoints"+test.query, nil)
			req.Header["Accept"] = test.accept
			reply := httptest.NewRecorder()
			h.ServeHTTP(reply, req)
			if got := reply.Header().Get("Content-Type"); reply.Code != test.status || got != test.want {
				t.Errorf("got %d %s, want %d %s", reply.Code, got, test.status, test.want)
			}
			if reply.Code == 400 && reply.Body.String() != "format: got \"xml\", want table or json\n" {
				t.Errorf("the refusal says %q, want the formats that there are", reply.Body)
			}
		})
	}
}

func decode[T any](t *testing.T, reply *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(reply.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v in %q", err, reply.Body)
	}
	return v
}
