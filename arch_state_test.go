package graylane_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoHiddenState keeps `init` out, variables of a package but errors and tables, and what would change these.
func TestNoHiddenState(t *testing.T) {
	for _, p := range list(t) {
		files := token.NewFileSet()
		parsed := make([]*ast.File, 0, len(p.GoFiles))
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		for _, fault := range hiddenState(p.name(), files, parsed) {
			t.Error(fault)
		}
	}
}

// TestHiddenStateIsFound: the test above must be able to fail.
func TestHiddenStateIsFound(t *testing.T) {
	const head = "package p\nimport (\"errors\"; \"sync\"; \"sync/atomic\"); type T struct { n int; in U }; type U struct { mu sync.Mutex }\n"
	for source, faulty := range map[string]bool{
		`var errLost = errors.New("lost")`:                                       false,
		`var table = map[string]int{"a": 1}; func f() int { return table["a"] }`: false,
		`var word = []byte("gray")`:                                              false,
		`var _ interface{ M() } = new(T)`:                                        false,
		`var table = []int{1}; func f(table []int) { table[0] = 2 }`:             false,
		`var table = []int{1}; func f() { table := table; table = nil }`:         false,
		`func init() {}`:                                                 true,
		`var n int`:                                                      true,
		`var n = 1`:                                                      true,
		`var lost = errors.New("lost")`:                                  true,
		`var mu = sync.Mutex{}`:                                          true,
		`var n = atomic.Int64{}`:                                         true,
		`var n = &atomic.Int64{}`:                                        true,
		`var n = []atomic.Int64{{}}`:                                     true,
		`var n = map[string]*sync.Mutex{}`:                               true,
		`var n = T{}`:                                                    true,
		`var n = struct{ once sync.Once }{}`:                             true,
		`var table = []int{1}; func f() { table = nil }`:                 true,
		`var table = []int{1}; func f() { table[0] = 2 }`:                true,
		`var table = []int{1}; func f() { table[0]++ }`:                  true,
		`var table = []int{1}; func f() { (table)[0] += 2 }`:             true,
		`var table = []struct{ n int }{{}}; func f() { table[0].n = 2 }`: true,
		`var table = []int{1}; func f() { for table[0] = range 3 {} }`:   true,
		`var table = map[int]int{}; func f() { delete(table, 1) }`:       true,
		`var table = map[int]int{}; func f() { clear(table) }`:           true,
		`var table = []int{1}; func f() { copy(table, table[1:]) }`:      true,
		`var errLost = errors.New("lost"); func f() { errLost = nil }`:   true,
	} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "p.go", head+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if faults := hiddenState("p", files, []*ast.File{file}); (len(faults) > 0) != faulty {
			t.Errorf("%s: got the faults %q, want some: %v", source, faults, faulty)
		}
	}
}

// hiddenState lists what is wrong with the variables of a package.
func hiddenState(pkg string, files *token.FileSet, parsed []*ast.File) []string {
	s := &stateSearch{pkg: pkg, files: files, types: map[string]ast.Expr{}}
	for _, file := range parsed {
		for _, decl := range file.Decls {
			s.noteTypes(decl)
		}
	}
	for _, file := range parsed {
		for _, decl := range file.Decls {
			s.checkDecl(decl)
		}
	}
	s.checkChanges(parsed)
	return s.faults
}

type stateSearch struct {
	pkg    string
	files  *token.FileSet
	types  map[string]ast.Expr // of the package, as they are declared
	faults []string
}

func (s *stateSearch) fault(at token.Pos, text string) {
	s.faults = append(s.faults, s.files.Position(at).String()+": "+text)
}

func (s *stateSearch) noteTypes(decl ast.Decl) {
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.TYPE {
		return
	}
	for _, spec := range group.Specs {
		if named, ok := spec.(*ast.TypeSpec); ok {
			s.types[named.Name.Name] = named.Type
		}
	}
}

func (s *stateSearch) checkDecl(decl ast.Decl) {
	if f, ok := decl.(*ast.FuncDecl); ok {
		if f.Recv == nil && f.Name.Name == "init" {
			s.fault(f.Pos(), "init: do it in a constructor that main calls")
		}
		return
	}
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.VAR {
		return
	}
	for _, spec := range group.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if ok && !s.constant(v) && !linked(s.pkg, v) {
			s.fault(v.Pos(), v.Names[0].Name+" is a variable of the package: only errors and tables that nothing changes may be; make the state in main and pass it in")
		}
	}
}

// constant says that a variable is an error, a table, or a check that a type fits an interface.
func (s *stateSearch) constant(v *ast.ValueSpec) bool {
	for _, name := range v.Names {
		if name.Name != "_" && len(v.Values) == 0 {
			return false
		}
	}
	for i, value := range v.Values {
		if v.Names[i].Name != "_" && !s.isTable(value) && !isError(v.Names[i].Name, value) {
			return false
		}
	}
	return true
}

// isTable accepts composite literals but those with something of sync in them, which is made to change, and conversions
// of a literal such as []byte("gray").
func (s *stateSearch) isTable(value ast.Expr) bool {
	switch e := value.(type) {
	case *ast.CompositeLit:
		return !s.changes(e.Type, nil)
	case *ast.CallExpr:
		_, converts := e.Fun.(*ast.ArrayType)
		return converts
	default:
		return false
	}
}

// changes says that a type has something of sync or sync/atomic in it.
func (s *stateSearch) changes(of ast.Expr, seen []string) bool {
	found := false
	ast.Inspect(of, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			from, ok := n.X.(*ast.Ident)
			found = found || ok && (from.Name == "sync" || from.Name == "atomic")
			return false
		case *ast.FuncType:
			return false // a table of functions holds nothing of what these are given
		case *ast.Ident:
			if declared := s.types[n.Name]; declared != nil && !contains(seen, n.Name) {
				found = found || s.changes(declared, append(seen, n.Name))
			}
		}
		return true
	})
	return found
}

func contains(names []string, name string) bool { return count(names, name) > 0 }

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

// checkChanges finds assignments to variables of the package or to parts of them. What is done by way of a pointer it cannot see.
func (s *stateSearch) checkChanges(parsed []*ast.File) {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}} // names of the package are told apart without them
	pkg, _ := config.Check(s.pkg, s.files, parsed, &info)
	check := func(target ast.Expr) {
		name := root(target)
		if v, ok := info.Uses[name].(*types.Var); ok && v.Parent() == pkg.Scope() {
			s.fault(target.Pos(), name.Name+", a variable of the package, can be changed here: make the state in main and pass it in")
		}
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, target := range n.Lhs {
					check(target)
				}
			case *ast.IncDecStmt:
				check(n.X)
			case *ast.RangeStmt:
				check(n.Key)
				check(n.Value)
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && contains([]string{"delete", "clear", "copy"}, f.Name) {
					check(n.Args[0])
				}
			}
			return true
		})
	}
}

// root is the variable that an expression is a part of, nil for none.
func root(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return root(e.X)
	case *ast.SliceExpr:
		return root(e.X)
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.ParenExpr:
		return root(e.X)
	case *ast.StarExpr:
		return root(e.X)
	}
	return nil
}

type noImports struct{}

var errNoImports = errors.New("no package is imported")

func (noImports) Import(string) (*types.Package, error) { return nil, errNoImports }
