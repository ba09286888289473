package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func statusCmd(run runFunc) *cobra.Command {
	k := &kubectl{run: run}
	var configMap string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every sidecar of a namespace, and whether all obey the same policy",
		Long: `Status shows the pods that have a sidecar: the tag, whether the pod is ready, and the
digest of the policy in force, as graylane_policy_info has it. It names Services that
select pods of several tags: who comes past the sidecars meets gray pods by them.

It fails (exit code 1) while a sidecar does not obey the policy of the ConfigMap. It
asks with kubectl, and needs its right to get pods/proxy.`,
		Example: `  injector status -n shop`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return status(cmd.Context(), k, configMap, cmd.OutOrStdout())
		},
	}
	k.add(cmd.Flags())
	addConfigMap(cmd, &configMap)
	return cmd
}

func status(ctx context.Context, k *kubectl, configMap string, out io.Writer) error {
	f, err := inspect(ctx, k, configMap)
	if err != nil {
		return err
	}
	if err := f.show(out); err != nil {
		return err
	}
	switch {
	case f.policy == "":
		return fmt.Errorf("there is no ConfigMap %s with a policy in namespace %s", configMap, k.namespace)
	case !f.agree():
		return fmt.Errorf("not every sidecar obeys the policy of ConfigMap %s, %s", configMap, f.policy)
	}
	_, err = fmt.Fprintf(out, "%d sidecars obey the policy of ConfigMap %s, %s\n", len(f.sidecars), configMap, f.policy)
	return err
}

func (f fleet) show(out io.Writer) error {
	columns := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(columns, "POD\tTAG\tREADY\tPOLICY\tNOTE")
	for _, s := range f.sidecars {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", s.pod, s.tag, yesNo(s.ready), orDash(s.digest), s.note(f.policy))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for _, service := range f.spanning {
		fmt.Fprintf(out, "warning: %s: who comes past the sidecars may meet either\n", service)
	}
	return nil
}

// note says what is wrong with a sidecar.
func (s sidecarState) note(policy string) string {
	switch {
	case s.fault != nil:
		return "cannot be asked: " + s.fault.Error()
	case s.digest == "":
		return "has no policy yet"
	case !s.valid:
		return "has refused the policy that it sees; its log says why"
	case s.digest != policy:
		return "has another policy than the ConfigMap"
	}
	return ""
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
