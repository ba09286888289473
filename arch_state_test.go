package graylane_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoHiddenState keeps `init` out, and variables of a package but errors and tables.
func TestNoHiddenState(t *testing.T) {
	for _, p := range list(t) {
		files := token.NewFileSet()
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				checkDecl(t, p.name(), files, decl)
			}
		}
	}
}

func checkDecl(t *testing.T, pkg string, files *token.FileSet, decl ast.Decl) {
	t.Helper()
	if f, ok := decl.(*ast.FuncDecl); ok {
		if f.Recv == nil && f.Name.Name == "init" {
			t.Errorf("%s: init: do it in a constructor that main calls", files.Position(f.Pos()))
		}
		return
	}
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.VAR {
		return
	}
	for _, spec := range group.Specs {
		v := spec.(*ast.ValueSpec) // what stands in a var declaration
		if !constant(v) && !linked(pkg, v) {
			t.Errorf("%s: %s is a variable of the package: only errors and tables that nothing changes may be; make the state in main and pass it in", files.Position(v.Pos()), v.Names[0].Name)
		}
	}
}

// constant says that a variable is an error, a table, or a check that a type fits an interface.
func constant(v *ast.ValueSpec) bool {
	for _, name := range v.Names {
		if name.Name != "_" && len(v.Values) == 0 {
			return false
		}
	}
	for i, value := range v.Values {
		if v.Names[i].Name != "_" && !isTable(value) && !isError(v.Names[i].Name, value) {
			return false
		}
	}
	return true
}

// isTable accepts composite literals but those of sync, which are made to change, and conversions of a literal such as
// []byte("gray").
func isTable(value ast.Expr) bool {
	switch e := value.(type) {
	case *ast.CompositeLit:
		of, ok := e.Type.(*ast.SelectorExpr)
		return !ok || of.X.(*ast.Ident).Name != "sync"
	case *ast.CallExpr:
		_, converts := e.Fun.(*ast.ArrayType)
		return converts
	default:
		return false
	}
}

// isError accepts errors.New and fmt.Errorf under a name that says so.
func isError(name string, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok || !strings.HasPrefix(strings.ToLower(name), "err") {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (f.Sel.Name == "New" || f.Sel.Name == "Errorf")
}

// linked is the one variable that the linker sets: the version of a command.
func linked(pkg string, v *ast.ValueSpec) bool {
	return strings.HasPrefix(pkg, "cmd/") && len(v.Names) == 1 && v.Names[0].Name == "version"
}
