package policy

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const million = 1_000_000

// idStep is how far ids in the list are apart, so that unknown ones look alike.
const idStep = 7

// BenchmarkTag asks policies of 1,000 rules, each with a list of 1,000,000 ids
// in front, for users that are in the list, in a rule, and in none.
func BenchmarkTag(b *testing.B) {
	dir := b.TempDir()
	writeIDs(b, filepath.Join(dir, "ids.txt"))
	for _, kind := range []struct{ name, rule string }{
		{"header values", `matches: [{headers: [{name: X-User-Id, values: ["n%[1]d", "m%[1]d"]}]}]`},
		{"several sources", `matches: [{path: {value: /p%[1]d}, cookies: [{name: c, value: "%[1]d"}]}, {hosts: [h%[1]d]}, {queryParams: [{name: q, value: "%[1]d"}]}]`},
		{"values and a share", `percent: 5, by: {header: X-User-Id}, matches: [{headers: [{name: X-User-Id, value: "n%[1]d"}]}]`},
		{"prefixes", `matches: [{headers: [{name: X-User-Id, type: Prefix, value: "n%[1]d-"}]}]`},
		{"path prefixes", `matches: [{path: {value: "/v1/p%[1]d"}}]`},
		{"shares by one key", `percent: 0.01, by: {header: X-User-Id}`},
		{"networks", `matches: [{sourceIPs: [10.9.%[2]d.%[3]d]}]`},
		{"regular expressions", `matches: [{headers: [{name: X-User-Id, type: RegularExpression, value: "n%[1]d-.*"}]}]`},
	} {
		p := thousandRules(b, dir, kind.rule)
		for _, user := range []struct {
			name string
			off  int
		}{{"in the list", 0}, {"unknown", 3}} {
			b.Run(kind.name+", "+user.name, func(b *testing.B) { benchmarkTag(b, p, user.off) })
		}
	}
}

func benchmarkTag(b *testing.B, p *Policy, off int) {
	requests := make([]Request, 4096) // more users than a cache holds the entries of
	for i := range requests {
		h := &header{{"X-User-Id", fmt.Appendf(nil, "%07d", i*241%million*idStep+off)}}
		requests[i] = Request{
			Method: []byte("GET"), Host: []byte("users.shop:8080"), Path: []byte("/v1/users/7"), Query: []byte("page=2"),
			Peer: netip.MustParseAddr("10.1.2.3"), Headers: h, Now: time.Unix(1_800_000_000, 0),
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p.Tag(&requests[i%len(requests)])
		i++
	}
}

// BenchmarkTagOfFourSources asks 1,000 rules on a header, a cookie, a query
// parameter and the host, below a list of 1,000,000 ids, about requests as
// browsers send them.
func BenchmarkTagOfFourSources(b *testing.B) {
	dir := b.TempDir()
	writeIDs(b, filepath.Join(dir, "ids.txt"))
	p := fourSources(b, dir)
	for _, c := range []struct {
		name          string
		off           int // of the user's id from one in the list
		cookie, query string
		host          string
		tag           string
	}{
		{"nobody", 3, "c", "page=2&sort=asc", "users.shop.svc.cluster.local:8080", Base},
		{"in the list", 0, "c", "page=2&sort=asc", "users.shop.svc.cluster.local:8080", Gray},
		{"by header", -1, "c", "page=2&sort=asc", "users.shop.svc.cluster.local:8080", Gray},
		{"by cookie", 3, "c501", "page=2&sort=asc", "users.shop.svc.cluster.local:8080", Gray},
		{"by query", 3, "c", "page=2&q=q502", "users.shop.svc.cluster.local:8080", Gray},
		{"by host", 3, "c", "page=2&sort=asc", "h503.shop", Gray},
	} {
		requests := make([]Request, 4096) // more users than a cache holds the entries of
		for i := range requests {
			id := fmt.Appendf(nil, "%07d", i*241%million*idStep+c.off)
			if c.off < 0 {
				id = []byte("n500")
			}
			requests[i] = Request{
				Method: []byte("GET"), Host: []byte(c.host), Path: []byte("/v1/users/7"), Query: []byte(c.query),
				Peer: netip.MustParseAddr("10.1.2.3"), Now: time.Unix(1_800_000_000, 0),
				Headers: fieldLines{
					{"Host", []byte(c.host)}, {"User-Agent", []byte("Mozilla/5.0")}, {"Accept", []byte("*/*")},
					{"Accept-Encoding", []byte("gzip, br")}, {"X-User-Id", id},
					{"Cookie", []byte("session=0123456789abcdef; theme=dark; group=" + c.cookie + "; lang=en")},
				},
			}
		}
		b.Run(c.name, func(b *testing.B) {
			if tag, _ := p.Tag(&requests[0]); tag != c.tag {
				b.Fatalf("tag %s, want %s", tag, c.tag)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p.Tag(&requests[i%len(requests)])
				i++
			}
		})
	}
}

// fourSources returns a policy of 1,000 rules that look in four places in turn.
func fourSources(b *testing.B, dir string) *Policy {
	b.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: graylane.dev/v1\nrules:\n")
	text.WriteString("  - {name: list, tag: gray, matches: [{headers: [{name: X-User-Id, valuesFrom: {files: [ids.txt]}}]}]}\n")
	for i := range 1000 {
		match := [...]string{
			`headers: [{name: X-User-Id, value: n%d}]`, `cookies: [{name: group, value: c%d}]`,
			`queryParams: [{name: q, value: q%d}]`, `hosts: [h%d.shop]`,
		}[i%4]
		fmt.Fprintf(&text, "  - {name: r%d, tag: gray, matches: [{"+match+"}]}\n", i, i)
	}
	p, err := Parse(filepath.Join(dir, "policy.yaml"), []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// fieldLines is a header of several lines that does not allocate.
type fieldLines []struct {
	name  string
	value []byte
}

func (l fieldLines) Get(name string) []byte {
	for i := range l {
		if l[i].name == name {
			return l[i].value
		}
	}
	return nil
}

func (l fieldLines) Values(dst [][]byte, name string) [][]byte {
	for i := range l {
		if l[i].name == name {
			dst = append(dst, l[i].value)
		}
	}
	return dst
}

// BenchmarkLoad reads a policy with a list of 1,000,000 ids and says how many
// bytes an entry takes in the compiled policy.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	writeIDs(b, filepath.Join(dir, "ids.txt"))
	policy := filepath.Join(dir, "policy.yaml")
	writeText(b, policy, "apiVersion: graylane.dev/v1\nrules: [{name: r, tag: gray, matches: [{headers: [{name: U, valuesFrom: {files: [ids.txt]}}]}]}]")
	for b.Loop() {
		if _, err := Load(policy); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(heldBy(b, policy)/million, "B/entry")
}

// BenchmarkServiceFor finds one of 1,000 services.
func BenchmarkServiceFor(b *testing.B) {
	var text strings.Builder
	text.WriteString("services:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  - {name: s%d, hosts: [s%d.shop.svc.cluster.local, \"*.s%d.shop\"]}\n", i, i, i)
	}
	p := mustParse(b, text.String())
	for _, host := range []string{"s500.shop.svc.cluster.local:8080", "a.b.s7.shop", "unknown.example.com:443"} {
		name := []byte(host)
		b.Run(host, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.ServiceFor(name)
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	p := mustParse(b, shop)
	s := p.ServiceNamed("users")
	b.ReportAllocs()
	for b.Loop() {
		s.Decide("gray")
	}
}

// heldBy returns how many bytes the policy at path keeps.
func heldBy(t testing.TB, path string) float64 {
	t.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(p)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

func thousandRules(b *testing.B, dir, rule string) *Policy {
	b.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: graylane.dev/v1\nrules:\n")
	text.WriteString("  - {name: list, tag: gray, matches: [{headers: [{name: X-User-Id, valuesFrom: {files: [ids.txt]}}]}]}\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  - {name: r%[1]d, tag: gray, "+rule+"}\n", i, i/250, i%250)
	}
	p, err := Parse(filepath.Join(dir, "policy.yaml"), []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func writeIDs(t testing.TB, path string) {
	var data bytes.Buffer
	for i := range million {
		fmt.Fprintf(&data, "%07d\n", i*idStep)
	}
	writeText(t, path, data.String())
}

func writeText(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
