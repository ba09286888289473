// Package help holds the help of all commands, of both binaries, to one style: somebody
// who knows one finds his way in another.
package help

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const widest = 90 // letters of a line of prose

// Check tells what is amiss with the help of the commands below root.
func Check(t *testing.T, root *cobra.Command) {
	t.Helper()
	for _, cmd := range root.Commands() {
		checkText(t, cmd)
		checkExamples(t, cmd)
		cmd.Flags().VisitAll(func(f *pflag.Flag) { checkFlag(t, cmd, f) })
	}
}

func checkText(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	name := cmd.Name()
	if !regexp.MustCompile(`^[A-Z][^.]+[^.]$`).MatchString(cmd.Short) {
		t.Errorf("%s: %q, want a sentence without a full stop", name, cmd.Short)
	}
	begin := strings.ToUpper(name[:1]) + name[1:] + " "
	if !strings.HasPrefix(cmd.Long, begin) || !strings.HasSuffix(cmd.Long, ".") {
		t.Errorf("%s: %q, want sentences, of which the first begins with %q", name, cmd.Long, begin)
	}
	for line := range strings.SplitSeq(cmd.Long, "\n") {
		if len(line) > widest {
			t.Errorf("%s: a line of %d letters: %q", name, len(line), line)
		}
	}
}

// checkExamples wants examples of the command, with flags that it has.
func checkExamples(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if !strings.Contains(cmd.Example, cmd.CommandPath()) {
		t.Errorf("%s: examples %q, want one of the command", cmd.Name(), cmd.Example)
	}
	for line := range strings.SplitSeq(cmd.Example, "\n") {
		if !strings.HasPrefix(line, "  ") {
			t.Errorf("%s: %q, want examples to stand two letters in", cmd.Name(), line)
		}
		_, ours, _ := strings.Cut(line, cmd.CommandPath()+" ")
		ours, _, _ = strings.Cut(ours, " | ")
		for _, flag := range regexp.MustCompile(`(?:^| )--([a-z-]+)`).FindAllStringSubmatch(ours, -1) {
			if cmd.Flags().Lookup(flag[1]) == nil {
				t.Errorf("%s: %q, whose flag --%s there is not", cmd.Name(), line, flag[1])
			}
		}
	}
}

// checkFlag wants to know of every flag what it takes, and what it is if nobody says.
func checkFlag(t *testing.T, cmd *cobra.Command, f *pflag.Flag) {
	t.Helper()
	kind, usage := pflag.UnquoteUsage(f)
	if capital := regexp.MustCompile(`^[A-Z][a-z]`); capital.MatchString(usage) || strings.HasSuffix(usage, ".") {
		t.Errorf("%s --%s: %q, want a phrase, not a sentence", cmd.Name(), f.Name, usage)
	}
	_, line, _ := strings.Cut(cmd.Flags().FlagUsages(), "--"+f.Name)
	line, _, _ = strings.Cut(line, "\n")
	if f.Value.Type() == "bool" || strings.HasPrefix(line, "[=true|false]") {
		return
	}
	if types := []string{"string", "strings", "stringArray", "text", "int", "uint16", "uint32"}; slices.Contains(types, kind) {
		t.Errorf("%s --%s takes a %s, want a word for what it is", cmd.Name(), f.Name, kind)
	}
	if strings.Count(line, "(default ")+strings.Count(line, "(required") != 1 || strings.Contains(line, `(default "`) {
		t.Errorf("%s --%s: %q, want one plain default, or that it is required", cmd.Name(), f.Name, line)
	}
}
