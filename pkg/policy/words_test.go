package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// People read one word for one thing: the words that stand for a tag or a
// version elsewhere are in no message, no description of a key and no page.
func TestPeopleReadTheWordsOfTheGlossaryOnly(t *testing.T) {
	avoided := regexp.MustCompile(`(?i)\b(lane|colou?r|subset|variant)s?\b`)
	for where, text := range readable(t) {
		if word := avoided.FindString(text); word != "" {
			t.Errorf("%s says %q: %s", where, word, text)
		}
	}
}

// readable returns the strings of the package by where they stand, and the
// pages that describe it.
func readable(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"the schema": string(Schema())}
	for _, page := range glob(t, "../../docs/*.md") {
		texts[page] = read(t, page)
	}
	files := token.NewFileSet()
	for _, path := range glob(t, "*.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				texts[files.Position(text.Pos()).String()] = text.Value
			}
			return true
		})
	}
	return texts
}
