package graylane_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestTestsThatCountAllocationsSaySo: so that those can be run without the race detector, beside which they claim nothing.
func TestTestsThatCountAllocationsSaySo(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !countsAllocations(f) {
				continue
			}
			found++
			if !strings.Contains(f.Name.Name, "Alloc") {
				t.Errorf("%s: %s counts allocations, want Alloc in its name", files.Position(f.Pos()), f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no test counts allocations")
	}
}

func countsAllocations(f *ast.FuncDecl) bool {
	counts := false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "AllocsPerRun" || s.Sel.Name == "WantNoAllocs") {
			counts = true
		}
		return true
	})
	return counts
}
