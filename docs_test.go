package graylane_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"graylane/internal/http1"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

func TestEveryMetricOfTheCodeIsDocumentedAndNoOther(t *testing.T) {
	documented := slices.Sorted(maps.Keys(documentedLabels(t)))
	if diff := cmp.Diff(documented, metricsInSource(t)); diff != "" {
		t.Errorf("docs/metrics.md against the source (doc -, source +):\n%s", diff)
	}
}

func TestTheLabelsOfEveryMetricAreDocumented(t *testing.T) {
	documented := documentedLabels(t)
	descs := make(chan *prometheus.Desc, 1000)
	metrics.New("v1").Describe(descs)
	close(descs)
	form := regexp.MustCompile(`fqName: "(graylane_\w+)".*variableLabels: {(.*)}}$`)
	seen := 0
	for desc := range descs {
		found := form.FindStringSubmatch(desc.String())
		if found == nil {
			continue // of the Go runtime or the process
		}
		seen++
		labels := strings.Fields(strings.ReplaceAll(found[2], ",", " "))
		if diff := cmp.Diff(documented[found[1]], labels); diff != "" {
			t.Errorf("labels of %s (doc -, code +):\n%s", found[1], diff)
		}
	}
	if seen == 0 {
		t.Error("the registry describes no metric of ours")
	}
}

func TestTheClosedListsOfLabelValuesAreDocumented(t *testing.T) {
	var reasons, sources []string
	for r := policy.Reason(0); r.String() != policy.Reason(255).String(); r++ {
		reasons = append(reasons, r.String())
	}
	for _, s := range propagate.Sources() {
		sources = append(sources, s.String())
	}
	var classes []string
	for _, status := range []int{100, 200, 300, 400, 500, 0} {
		classes = append(classes, metrics.Class(status))
	}
	tests := map[string][]string{
		"direction": {metrics.Inbound.String(), metrics.Outbound.String(), metrics.Gateway.String()},
		"reason":    reasons,
		"source":    sources,
		"class":     classes,
		"result":    resultsOf(t),
		"state":     upstream.States(),
		"error":     errorsOf(),
	}
	for label, want := range tests {
		if diff := cmp.Diff(documentedValues(t, label), want); diff != "" {
			t.Errorf("values of %s (doc -, code +):\n%s", label, diff)
		}
	}
}

func errorsOf() []string {
	return slices.Sorted(slices.Values(append(http1.Reasons(),
		metrics.NoPolicy, metrics.NoHost, metrics.Unavailable, metrics.Overloaded,
		metrics.NoRoute, metrics.BadPath, metrics.CORS, metrics.Leaked)))
}

// resultsOf gives the values of the label result, of which metrics keeps the
// words to itself.
func resultsOf(t *testing.T) []string {
	t.Helper()
	page := httptest.NewRecorder()
	metrics.New("v1").Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	var results []string
	for _, found := range regexp.MustCompile(`result="(\w+)"`).FindAllStringSubmatch(page.Body.String(), -1) {
		results = append(results, found[1])
	}
	slices.Sort(results)
	slices.Reverse(results) // the good one first, as people read
	return results
}

// documentedLabels gives the metrics in the first table of the page, each with
// its labels in the order of the page.
func documentedLabels(t *testing.T) map[string][]string {
	t.Helper()
	labels := make(map[string][]string)
	for _, row := range rows(t, "# Metrics") {
		labels[unquote(row[0])] = strings.Fields(unquote(row[2]))
	}
	return labels
}

func documentedValues(t *testing.T, label string) []string {
	t.Helper()
	var values []string
	for _, row := range rows(t, "## Values of `"+label+"`") {
		values = append(values, unquote(row[0]))
	}
	return values
}

// rows gives the cells of the first table under a heading of docs/metrics.md.
func rows(t *testing.T, heading string) [][]string {
	t.Helper()
	page, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), heading+"\n")
	_, table, hasTable := strings.Cut(section, "|---|")
	_, table, _ = strings.Cut(table, "\n")
	if !found || !hasTable {
		t.Fatalf("docs/metrics.md has no table under %q", heading)
	}
	var rows [][]string
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows = append(rows, strings.Split(strings.Trim(line, "|\n"), "|"))
	}
	return rows
}

func unquote(cell string) string {
	return strings.TrimSpace(strings.ReplaceAll(cell, "`", ""))
}

// metricsInSource gives every string of the product's source that is the name of
// a metric, sorted.
func metricsInSource(t *testing.T) []string {
	t.Helper()
	name := regexp.MustCompile(`^graylane_[a-z_]+$`)
	names := make(map[string]bool)
	for _, dir := range []string{"cmd", "internal", "pkg"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && name.MatchString(text) {
						names[text] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestThePolicyOfComposeHasItsAddresses(t *testing.T) {
	text, err := os.ReadFile("demo/policy/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	compose, err := os.ReadFile("demo/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("demo/policy/policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Services {
		for _, v := range s.Versions {
			host, _, _ := strings.Cut(v.Endpoints[0].Address, ":")
			_, service, found := strings.Cut(string(compose), "\n  "+s.Name+"-"+v.Tag+":\n")
			if service, _, _ = strings.Cut(service, "\n\n"); !found || !strings.Contains(service, "ipv4_address: "+host+"}") {
				t.Errorf("the policy has %s of %s at %s, compose.yaml does not", v.Tag, s.Name, host)
			}
		}
	}
}
