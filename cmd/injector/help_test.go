package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The help of all commands is of the style that the sidecar's have: somebody who knows
// one finds his way in another.
func TestTheHelpOfAllCommandsIsOfOneStyle(t *testing.T) {
	short := regexp.MustCompile(`^[A-Z][^.]+[^.]$`)
	for _, cmd := range rootCmd().Commands() {
		name := cmd.Name()
		if !short.MatchString(cmd.Short) {
			t.Errorf("%s: %q, want a sentence without a full stop", name, cmd.Short)
		}
		if begin := strings.ToUpper(name[:1]) + name[1:] + " "; !strings.HasPrefix(cmd.Long, begin) || !strings.HasSuffix(cmd.Long, ".") {
			t.Errorf("%s: %q, want sentences, of which the first begins with %q", name, cmd.Long, begin)
		}
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if len(line) > 90 {
				t.Errorf("%s: a line of %d letters: %q", name, len(line), line)
			}
		}
		testExamples(t, cmd)
		cmd.Flags().VisitAll(func(f *pflag.Flag) { testFlag(t, cmd, f) })
	}
}

// testExamples wants examples of the command, with flags that it has.
func testExamples(t *testing.T, cmd *cobra.Command) {
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

// testFlag wants to know of every flag what it takes, and what it is if nobody says.
func testFlag(t *testing.T, cmd *cobra.Command, f *pflag.Flag) {
	t.Helper()
	kind, usage := pflag.UnquoteUsage(f)
	shown := cmd.Flags().FlagUsages()
	_, line, _ := strings.Cut(shown, "--"+f.Name)
	line, _, _ = strings.Cut(line, "\n")
	switch first := usage[:1]; {
	case strings.HasSuffix(usage, "."), first != strings.ToLower(first) && usage[1:2] == strings.ToLower(usage[1:2]):
		t.Errorf("%s --%s: %q, want a phrase, not a sentence", cmd.Name(), f.Name, usage)
	case f.Value.Type() == "bool" || strings.HasPrefix(line, "[=true|false]"):
		return
	case slices.Contains([]string{"string", "strings", "stringArray", "text", "int", "uint16", "uint32"}, kind):
		t.Errorf("%s --%s takes a %s, want a word for what it is", cmd.Name(), f.Name, kind)
	case strings.Count(line, "(default ")+strings.Count(line, "(required") != 1, strings.Contains(line, `(default "`):
		t.Errorf("%s --%s: %q, want one plain default, or that it is required", cmd.Name(), f.Name, line)
	}
}
