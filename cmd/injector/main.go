// Command injector serves the admission webhooks; patches manifests, shows status from the command line: `serve`,
// `inject`, `status`, `on`, `off`, `version`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// version is set by the linker in release builds (-X main.version=...).
var version string

// Exit codes: what was asked could not be done, or made no sense.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is what the caller of a command did wrong.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := rootCmd()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(errOut, "injector: %v\n", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "injector",
		Short: "Add the Graylane sidecar to pods, and look after it there",
		Long: `Injector adds the sidecar to pods, as a webhook of the API server or in manifests,
shows what the sidecars of a namespace obey, and switches gray routing off and on.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("no command %q: see injector --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{errors.Join(errors.New("want a command"), cmd.Help())}
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(serveCmd(), injectCmd(), statusCmd(runCommand), switchCmd(runCommand, true), switchCmd(runCommand, false), versionCmd())
	for _, cmd := range root.Commands() {
		showPlainly(cmd.Flags())
	}
	return root
}

// showPlainly makes the help of all commands alike, as the sidecar's is: flags stand in
// the order of the code, and defaults as they would be written.
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

func versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Long: `Version prints one line: the version, the Go that built it, system and processor.
A build that is no release says unknown.`,
		Example: `  injector version`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version
			if v == "" {
				v = "unknown"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "graylane %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}
