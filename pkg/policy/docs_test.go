package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every policy that people can copy from the repository must work.
func TestEveryPolicyThatIsShownPassesCheck(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "testers.txt"), "7\n")
	shown := 0
	for _, path := range documents(t) {
		for i, text := range policies(read(t, path)) {
			shown++
			file := filepath.Join(dir, "policy.yaml")
			writeText(t, file, text)
			if faults, _ := Check(file, time.Now()); len(faults) > 0 {
				t.Errorf("%s, policy %d:\n%v", path, i+1, faults)
			}
		}
	}
	if shown < 5 {
		t.Errorf("%d policies in README, docs and k8s, want them found", shown)
	}
}

// documents lists the files that show policies.
func documents(t *testing.T) []string {
	t.Helper()
	paths := []string{"../../README.md"}
	for _, root := range []string{"../../docs", "../../k8s"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && slices.Contains([]string{".md", ".yaml", ".yml"}, filepath.Ext(path)) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return paths
}

// policies cuts the policies out of a text: from the line with the API version,
// as far as lines are indented like it or blank, in Markdown up to the fence.
func policies(text string) []string {
	const start = "apiVersion: " + APIVersion
	var found []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		indent, rest, ok := strings.Cut(lines[i], start)
		if !ok || strings.TrimSpace(indent+rest) != "" {
			continue
		}
		var policy strings.Builder
		for ; i < len(lines); i++ {
			rest, inside := strings.CutPrefix(lines[i], indent)
			if !inside && strings.TrimSpace(lines[i]) != "" || strings.HasPrefix(rest, "```") || strings.HasPrefix(rest, "---") {
				break
			}
			policy.WriteString(rest + "\n")
		}
		found = append(found, policy.String())
	}
	return found
}

// A key has a row in docs/policy.md, which states its default.
func TestEveryKeyHasARowInTheDocs(t *testing.T) {
	text := read(t, "../../docs/policy.md")
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[Time]() {
			return
		}
		seen[typ] = true
		for _, f := range fieldsOf(typ) {
			look(f.typ)
			row := "| `" + f.name + "` | "
			switch {
			case f.need:
				row += "required"
			case f.enum != nil && f.deflt != "":
				row += "`" + f.deflt + "` |"
			}
			if !strings.Contains(text, row) {
				t.Errorf("docs/policy.md has no row %q for %s.%s", row, typ.Name(), f.name)
			}
		}
	}
	look(reflect.TypeFor[Spec]())
}
