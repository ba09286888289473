package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"graylane/internal/inject"
)

func injectCmd() *cobra.Command {
	var flags optionFlags
	var files []string
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Add the sidecar to the pods of manifests, without a webhook",
		Long: `Inject reads Kubernetes manifests and prints them with the sidecar in every pod: of
Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs and CronJobs, alone,
in Lists, and in files of many documents. Comments and unknown fields stay, and a
document without pods stays as it is. What became of each pod is told on stderr.

Pods are left out that have the network of their host or the label
graylane.dev/inject: disabled. Pods that have the sidecar keep it as it is. If one
pod must be refused, nothing is printed.`,
		Example: `  injector inject --image graylane/sidecar:v1 -f deployment.yaml | kubectl apply -f -
  kustomize build . | injector inject --image graylane/sidecar:v1 -f -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usageError{errors.New("filename: required, want a file, or - for the standard input")}
			}
			options, err := flags.read()
			if err != nil {
				return err
			}
			return injectFiles(cmd, files, options)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "manifest `file`, - for standard input; may be given often (required)")
	flags.add(cmd.Flags())
	cmd.Flags().StringVar(&flags.options.Server, "kubernetes", "", "`version` of the API server, such as 1.34; older ones than 1.29 are refused (default new enough)")
	return cmd
}

// injectFiles prints all files or none.
func injectFiles(cmd *cobra.Command, files []string, options inject.Options) error {
	var outputs [][]byte
	var faults []error
	for _, file := range files {
		name, text, err := readFile(cmd.InOrStdin(), file)
		if err != nil {
			return err
		}
		out, notes, err := inject.Manifest(name, text, options)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, n := range notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: %s: %s\n", name, n.Line, n.Who, n.What)
		}
		outputs = append(outputs, out)
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("nothing is printed, since pods are refused:\n%w", err)
	}
	for i, out := range outputs {
		if i > 0 {
			separator := "---\n"
			if !bytes.HasSuffix(outputs[i-1], []byte("\n")) {
				separator = "\n---\n"
			}
			fmt.Fprint(cmd.OutOrStdout(), separator)
		}
		if _, err := cmd.OutOrStdout().Write(out); err != nil {
			return fmt.Errorf("print the manifests: %w", err)
		}
	}
	return nil
}

func readFile(in io.Reader, file string) (name string, text []byte, err error) {
	if file == "-" {
		text, err = io.ReadAll(in)
		if err != nil {
			return "", nil, fmt.Errorf("read the standard input: %w", err)
		}
		return "stdin", text, nil
	}
	text, err = os.ReadFile(file)
	return file, text, err
}
