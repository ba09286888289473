package policy

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestARequestMayBeWrittenInManyWays(t *testing.T) {
	for _, test := range []struct {
		form func(string) (*Sample, error)
		text string
		want Sample
	}{
		{ParseSample, "GET http://users/v1 X-User-Id: 7",
			Sample{Method: "GET", Host: "users", Path: "/v1", Headers: map[string]string{"X-User-Id": "7"}}},
		{ParseSample, "users", Sample{Method: "GET", Host: "users", Path: "/"}},
		{ParseSample, "PUT https://ann:secret@users:8080?a=b#c", Sample{Method: "PUT", Host: "users:8080", Path: "/", Query: "a=b"}},
		{ParseSample, "/v1?x Host: users", Sample{Method: "GET", Host: "users", Path: "/v1", Query: "x", Headers: map[string]string{"Host": "users"}}},
		{ParseSample, "GET users/ Cookie: a=b; c=d User-Agent: kube-probe/1.30 (x) Cookie: e=f A: a:b",
			Sample{Method: "GET", Host: "users", Path: "/", Headers: map[string]string{
				"Cookie": "a=b; c=d; e=f", "User-Agent": "kube-probe/1.30 (x)", "A": "a:b"}}},
		{ParseSample, "GET users/ A: 1 a: 2 Empty:", Sample{Method: "GET", Host: "users", Path: "/", Headers: map[string]string{"A": "1", "Empty": ""}}},
		{ParseHTTP, "POST /v1?q=1 HTTP/1.1\r\nHost: users:80\r\nX-A:  b \r\n\r\nbody: no header",
			Sample{Method: "POST", Host: "users:80", Path: "/v1", Query: "q=1", Headers: map[string]string{"Host": "users:80", "X-A": "b"}}},
		{ParseHTTP, "GET http://users/ HTTP/1.1\nHost: other\n",
			Sample{Method: "GET", Host: "users", Path: "/", Headers: map[string]string{"Host": "other"}}},
		{ParseHTTP, "OPTIONS * HTTP/1.1\nHost: users", Sample{Method: "OPTIONS", Host: "users", Path: "*", Headers: map[string]string{"Host": "users"}}},
		{ParseCurl, `curl 'http://users/v1?a=b' -H 'X-User-Id: 7' -H "Accept: */*" --compressed`,
			Sample{Method: "GET", Host: "users", Path: "/v1", Query: "a=b", Headers: map[string]string{"X-User-Id": "7", "Accept": "*/*"}}},
		{ParseCurl, "curl -sSL -XPUT \\\n  --url=http://users/ \\\n  -H 'Host: front' -b gray=1 -A me -e there",
			Sample{Method: "PUT", Host: "front", Path: "/", Headers: map[string]string{
				"Host": "front", "Cookie": "gray=1", "User-Agent": "me", "Referer": "there"}}},
		{ParseCurl, `curl --data-raw '{"a": "b c"}' -o /dev/null -x http://127.0.0.1:15001 users`, Sample{Method: "POST", Host: "users", Path: "/"}},
		{ParseCurl, `curl -G -d a=1 -d b=2 http://users/?c=3`, Sample{Method: "GET", Host: "users", Path: "/", Query: "c=3&a=1&b=2"}},
		{ParseCurl, `curl -I http://users/"a b"\ c`, Sample{Method: "HEAD", Host: "users", Path: "/a b c"}},
		{ParseCurl, `http://users -H "X: \"q\" \n"`, Sample{Method: "GET", Host: "users", Path: "/", Headers: map[string]string{"X": `"q" \n`}}},
	} {
		got, err := test.form(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	for _, test := range []struct {
		form func(string) (*Sample, error)
		text string
	}{
		{ParseSample, ""}, {ParseSample, "A: b"}, {ParseSample, "GET http://users/ HTTP/1.1"},
		{ParseHTTP, ""}, {ParseHTTP, "GET\n"}, {ParseHTTP, "GET / HTTP/1.1\nno header\n"}, {ParseHTTP, "GET / HTTP/1.1\na b: c\n"},
		{ParseCurl, ""}, {ParseCurl, "curl"}, {ParseCurl, "curl -H"}, {ParseCurl, "curl 'http://users"}, {ParseCurl, "curl -X POST"},
	} {
		if s, err := test.form(test.text); err == nil {
			t.Errorf("%q is read as %+v", test.text, s)
		}
	}
}

func TestARequestOnOneLineReadsBack(t *testing.T) {
	s := &Sample{
		Method: "POST", Host: "users:80", Path: "/v1", Query: "a=b",
		Headers: map[string]string{"X-A": "1", "X-B": "2 3"}, Cookies: map[string]string{"gray": "1"},
		QueryParams: map[string]string{"q": "ü +"},
	}
	line := s.String()
	got, err := ParseSample(line)
	if err != nil {
		t.Fatal(err)
	}
	if want := "POST http://users:80/v1?a=b&q=%C3%BC%20%2B X-A: 1 X-B: 2 3 Cookie: gray=1"; line != want {
		t.Errorf("shown as %q, want %q", line, want)
	}
	want := map[string]string{"X-A": "1", "X-B": "2 3", "Cookie": "gray=1"}
	if diff := cmp.Diff(want, got.Headers); diff != "" || got.Query != s.query() {
		t.Errorf("read back with query %q and headers (-want +got):\n%s", got.Query, diff)
	}
}

// What is recorded is enough to decide again.
func TestInputsDecideAsTheRequestDid(t *testing.T) {
	p, err := Load("testdata/good/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for s := range Generate(p, p, 5000) {
		r := s.Request()
		r.Rand = func() uint64 { return 1 << 63 }
		want, _ := p.Tag(r)
		again := p.Inputs(r).Request()
		again.Rand = r.Rand
		if got, _ := p.Tag(again); got != want {
			t.Fatalf("%v is %s, by its inputs %v it is %s", s, want, p.Inputs(r), got)
		}
	}
}

func TestInputsHoldNothingElse(t *testing.T) {
	p := mustParse(t, "rules: [{name: r, tag: gray, matches: [{headers: [{name: A, value: x}], cookies: [{name: c, value: x}]}]}]")
	r := (&Sample{
		Method: "GET", Host: "users", Path: "/", Query: "token=secret",
		Headers: map[string]string{"a": "1", "Authorization": "secret", "Cookie": "c=2; session=secret"},
	}).Request()
	want := &Sample{Method: "GET", Host: "users", Path: "/", Headers: map[string]string{"A": "1"}, Cookies: map[string]string{"c": "2"}}
	if diff := cmp.Diff(want, p.Inputs(r), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

func TestMadeUpRequestsTryEveryMatch(t *testing.T) {
	p := mustParse(t, `
rules:
  - {name: a, tag: a, matches: [{headers: [{name: A, value: x}]}, {headers: [{name: A, type: Prefix, value: p}]}]}
  - {name: b, tag: b, matches: [{path: {value: /b}, method: PUT}]}
  - {name: c, tag: c, matches: [{hosts: ["*.c"]}, {cookies: [{name: c, type: Suffix, value: s}]}]}
  - {name: d, tag: d, matches: [{jwtClaims: [{name: d, type: Present}], queryParams: [{name: d, value: "1"}]}]}
  - {name: e, tag: e, matches: [{sourceIPs: [192.168.7.0/24]}]}
  - {name: f, tag: f, active: {from: 2027-01-01T00:00:00Z, until: 2027-01-02T00:00:00Z}}
`)
	took := map[string]bool{}
	for s := range Generate(p, p, 200) {
		if _, rule := p.Tag(s.Request()); rule != nil {
			took[rule.Name] = true
		}
	}
	want := map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true, "f": true}
	if diff := cmp.Diff(want, took); diff != "" {
		t.Errorf("rules that took a request (-want +got):\n%s", diff)
	}
}

func TestGenerateMakesAsManyAsAsked(t *testing.T) {
	p := mustParse(t, shop)
	for _, n := range []int{0, 1, 7, 1000} {
		got := 0
		for range Generate(p, p, n) {
			got++
		}
		if got != n {
			t.Errorf("%d requests, want %d", got, n)
		}
	}
}
