package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"graylane/pkg/policy"
)

// comparing is what diff is asked.
type comparing struct {
	requests string
	generate int
	output   string
}

func diffCmd() *cobra.Command {
	var c comparing
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say which requests another policy would route differently",
		Long: `Diff asks two policies about the same requests and counts what would change, by
rule and service, with examples. The requests come from --requests: JSON lines, as
"sidecar run --access-log --log-format json --log-inputs" writes them. Without it
they are made up from what the rules of both policies ask for. What is compared is the
tag and the version that serves it; endpoints, weights and the routes of a gateway are
not.

It exits with 0 if no answer changes, 1 if some do, and 2 if it cannot tell.`,
		Example: `  sidecar diff old.yaml new.yaml
  sidecar diff --requests access.log old.yaml new.yaml
  kubectl logs deploy/users -c graylane | sidecar diff --requests - old.yaml new.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Sprintf("diff: %d files, want two: the old policy and the new one", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(args[0], args[1], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.requests, "requests", "", "`file` of recorded requests, - for standard input (default made up)")
	flags.IntVar(&c.generate, "generate", 10_000, "`number` of requests to make up")
	flags.StringVar(&c.output, "output", "text", "`format` to print: text or json")
	return cmd
}

func (c *comparing) run(before, after string, in io.Reader, out, errOut io.Writer) error {
	show, err := outputNamed(c.output, showComparison)
	if err != nil {
		return err
	}
	was, err := policy.Load(before)
	if err != nil {
		return trouble(err)
	}
	is, err := policy.Load(after)
	if err != nil {
		return trouble(err)
	}
	result, err := c.compare(was, is, in, errOut)
	if err != nil {
		return trouble(err)
	}
	if err := show(out, result); err != nil {
		return trouble(err)
	}
	if result.Changed > 0 {
		return exitCode(exitFailed)
	}
	return nil
}

// trouble is an error that leaves open whether the policies differ.
func trouble(err error) error { return usageError{"diff: " + err.Error()} }

func (c *comparing) compare(was, is *policy.Policy, in io.Reader, errOut io.Writer) (*policy.Comparison, error) {
	if c.requests == "" {
		return policy.Compare(was, is, policy.Generate(was, is, c.generate)), nil
	}
	if c.requests != "-" {
		f, err := os.Open(c.requests)
		if err != nil {
			return nil, fmt.Errorf("read recorded requests: %w", err)
		}
		defer f.Close()
		in = f
	}
	records := policy.NewRecords(in)
	result := policy.Compare(was, is, records.All())
	if err := records.Err(); err != nil {
		return nil, fmt.Errorf("read recorded requests: %w", err)
	}
	if n := records.Skipped(); n > 0 {
		fmt.Fprintf(errOut, "sidecar: diff: %d log lines have no inputs: record them with --log-inputs\n", n)
	}
	if result.Requests == 0 {
		return nil, fmt.Errorf("no recorded requests, want JSON lines with inputs")
	}
	return result, nil
}

func showComparison(out io.Writer, c *policy.Comparison) error {
	fmt.Fprintf(out, "%d of %d requests change\n", c.Changed, c.Requests)
	for _, change := range c.Changes {
		fmt.Fprintf(out, "\n%d of them\n  from %s\n  to   %s\n", change.Count, change.Before, change.After)
		for _, s := range change.Examples {
			fmt.Fprintf(out, "    %s\n", s)
		}
	}
	return nil
}
