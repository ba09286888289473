// Command sidecar wires one pod's sidecar: `run`, `check`, `explain`, `diff`, `redirect`, `drain`, `version`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"graylane/pkg/policy"
)

// version is set by the linker in release builds (-X main.version=...).
var version string

// Exit codes: what was asked could not be done, or made no sense.
const (
	exitFailed = 1
	exitUsage  = 2
)

// exitCode is the error of a command that has already said what there was to say.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := rootCmd()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)

	var code exitCode
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		for _, fault := range usage {
			fmt.Fprintf(errOut, "sidecar: %s\n", fault)
		}
		return exitUsage
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(errOut, "sidecar: %s\n", line)
	}
	return exitFailed
}

func rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "sidecar",
		Short: "Route gray (canary) requests along a whole call chain, with no change to the app",
		Long: `Sidecar takes the calls to and from the app beside it, decides once per call
chain who is gray, sends each call to the version of a service that carries the
request's tag, and keeps the tag on the request through every hop.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Sprintf("no command %q: see sidecar --help%s", args[0], policy.DidYouMean(args[0], commandNames(cmd)))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Without a command nothing was done, which a script should notice.
			if err := cmd.Help(); err != nil {
				return err
			}
			return exitCode(exitUsage)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Sprintf("%v: see %s --help%s", err, cmd.CommandPath(), meantFlag(cmd, err))}
	})
	root.AddCommand(runCmd(), checkCmd(), explainCmd(), diffCmd(), redirectCmd(), drainCmd(), versionCmd())
	for _, cmd := range root.Commands() {
		showPlainly(cmd.Flags())
	}
	return root
}

// showPlainly makes the help of all commands alike: flags stand in the order of the
// code, and defaults as they would be written.
func showPlainly(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "string" {
			f.Value = plain{f.Value}
		}
	})
}

// plain is a text whose default the help puts in no quotes.
type plain struct{ pflag.Value }

func (plain) Type() string { return "text" }

func commandNames(parent *cobra.Command) []string {
	var names []string
	for _, cmd := range parent.Commands() {
		names = append(names, cmd.Name())
	}
	return names
}

// meantFlag names the flag that comes nearest to one that is none.
func meantFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return policy.DidYouMean(unknown.GetSpecifiedName(), names)
}

func versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Long: `Version prints one line: the version, the Go that built it, system and processor.
A build from a checkout, with no version of its own, is named by its commit.`,
		Example: `  sidecar version`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "graylane %s %s %s/%s\n",
				buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err.Error()}
	}
	return nil
}

// buildVersion is what the linker set, else what Go recorded of the source: a
// module version, or the commit that a checkout was at.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "git-" + s.Value[:12]
		}
	}
	return info.Main.Version
}
