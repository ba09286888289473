package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/pflag"
)

// kubectl is how commands for people reach a cluster: with their own kubectl, which knows every way to log in.
type kubectl struct {
	binary    string
	context   string
	namespace string

	// run runs a command line; tests put theirs in.
	run runFunc
}

func (k *kubectl) add(fs *pflag.FlagSet) {
	fs.StringVar(&k.binary, "kubectl", "kubectl", "`program` to ask the cluster with")
	fs.StringVar(&k.context, "context", "", "`context` of kubectl's configuration (default the current one)")
	fs.StringVarP(&k.namespace, "namespace", "n", "default", "`namespace` of the pods")
}

// call runs one command of kubectl in the namespace, and gives what it prints.
func (k *kubectl) call(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	all := []string{"--namespace", k.namespace}
	if k.context != "" {
		all = append(all, "--context", k.context)
	}
	out, err := k.run(ctx, stdin, k.binary, append(all, args...)...)
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// get reads objects as JSON.
func (k *kubectl) get(ctx context.Context, into any, args ...string) error {
	text, err := k.call(ctx, nil, append([]string{"get", "--output", "json"}, args...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("kubectl get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// runFunc runs a program with an input and gives its output.
type runFunc func(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error)

// runCommand runs a program; the error has what it said.
func runCommand(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			return nil, fmt.Errorf("%w: %s", err, text)
		}
		return nil, err
	}
	return out, nil
}
