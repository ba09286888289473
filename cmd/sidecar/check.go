package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"graylane/pkg/policy"
)

func checkCmd() *cobra.Command {
	var output string
	var schema bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say what is wrong with policy files, and what is odd",
		Long: `Check reads policy files and the lists that they name, and prints every fault as
file:line:column: where: what, what was wanted. A file without faults is looked
through for what is odd: rules that are never asked, tags that no version has,
services without base, hosts claimed twice, trust that is wide open.

It exits with 1 if a file has a fault; warnings alone are no failure.`,
		Example: `  sidecar check policy.yaml
  sidecar check --output json policies/*.yaml
  sidecar check --schema > policy.v1.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !schema {
				return usageError{"check: no file, want one or more"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if schema {
				_, err := out.Write(policy.Schema())
				return err
			}
			show, err := outputNamed(output, showReviews)
			if err != nil {
				return err
			}
			return check(args, out, show)
		},
	}
	cmd.Flags().StringVar(&output, "output", "text", "`format` to print: text or json")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of policy files, for editors")
	return cmd
}

// review is what check has to say of one file.
type review struct {
	File     string        `json:"file"`
	OK       bool          `json:"ok"`
	Faults   policy.Faults `json:"faults"`
	Warnings policy.Faults `json:"warnings"`
}

func check(files []string, out io.Writer, show func(io.Writer, []review) error) error {
	now, failed := time.Now(), false
	reviews := make([]review, len(files))
	for i, file := range files {
		// Not nil: JSON shows empty lists.
		r := review{File: file, Faults: policy.Faults{}, Warnings: policy.Faults{}}
		faults, warnings := policy.Check(file, now)
		r.Faults, r.Warnings = append(r.Faults, faults...), append(r.Warnings, warnings...)
		r.OK = len(faults) == 0
		failed = failed || !r.OK
		reviews[i] = r
	}
	if err := show(out, reviews); err != nil {
		return err
	}
	if failed {
		return exitCode(exitFailed)
	}
	return nil
}

func showReviews(out io.Writer, reviews []review) error {
	for _, r := range reviews {
		for _, f := range r.Faults {
			fmt.Fprintln(out, f.Error())
		}
		for _, w := range r.Warnings {
			w.Where = strings.TrimSuffix("warning: "+w.Where, ": ")
			fmt.Fprintln(out, w.Error())
		}
		if r.OK {
			fmt.Fprintf(out, "%s: good\n", r.File)
		}
	}
	return nil
}

// outputNamed returns the way to show a value that --output asks for.
func outputNamed[T any](name string, text func(io.Writer, T) error) (func(io.Writer, T) error, error) {
	switch name {
	case "text":
		return text, nil
	case "json":
		return func(out io.Writer, value T) error {
			enc := json.NewEncoder(out)
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			return enc.Encode(value)
		}, nil
	}
	return nil, usageError{fmt.Sprintf("output: got %q, want text or json", name)}
}
