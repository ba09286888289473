package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"graylane/internal/inject"
)

// switchCmd is `on` or `off`.
func switchCmd(run runFunc, on bool) *cobra.Command {
	s := &switcher{kubectl: &kubectl{run: run}, on: on, now: time.Now, pause: time.Second}
	name, short := "off", "Make every request base, at once"
	long := "Off sets enabled: false in the policy of a namespace's ConfigMap."
	if on {
		name, short = "on", "Let the rules decide again"
		long = "On sets enabled: true in the policy of a namespace's ConfigMap."
	}
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Long: long + ` It touches an
annotation of the pods, which makes the kubelet bring them the change at once, waits
until every sidecar obeys, and prints how long that took.

Where something else keeps the ConfigMap, such as Argo CD, change it there too.`,
		Example: `  injector ` + name + ` -n shop`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.do(cmd.Context(), cmd.OutOrStdout())
		},
	}
	s.kubectl.add(cmd.Flags())
	addConfigMap(cmd, &s.configMap)
	cmd.Flags().DurationVar(&s.timeout, "timeout", 2*time.Minute, "how long to wait for the sidecars")
	return cmd
}

func addConfigMap(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "policy", inject.NewOptions("").Policy, "`name` of the ConfigMap whose key "+inject.PolicyFile+" is the policy")
}

// switcher turns gray routing on or off in a namespace.
type switcher struct {
	kubectl   *kubectl
	configMap string
	on        bool
	timeout   time.Duration
	now       func() time.Time
	pause     time.Duration // between two looks at the sidecars
}

func (s *switcher) do(ctx context.Context, out io.Writer) error {
	begin := s.now()
	before, err := readPolicy(ctx, s.kubectl, s.configMap)
	if err != nil {
		return err
	}
	policy := before.Data[inject.PolicyFile]
	if policy == "" {
		return fmt.Errorf("there is no ConfigMap %s with a policy in namespace %s", s.configMap, s.kubectl.namespace)
	}
	changed, err := setEnabled(policy, s.on)
	if err != nil {
		return fmt.Errorf("the policy in ConfigMap %s: %w", s.configMap, err)
	}
	if changed != policy {
		if err := s.write(ctx, changed, before.ResourceVersion); err != nil {
			return err
		}
	}
	touched := fmt.Sprintf("%s=%s", inject.AnnotationTouched, begin.UTC().Format(time.RFC3339))
	if _, err := s.kubectl.call(ctx, nil, "annotate", "pods", "--selector", inject.LabelTag, "--overwrite", touched); err != nil {
		return err
	}
	f, err := s.wait(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d sidecars obey after %.1f s\n", len(f.sidecars), s.now().Sub(begin).Seconds())
	return err
}

// write replaces the policy if nobody else has meanwhile.
func (s *switcher) write(ctx context.Context, policy, version string) error {
	patch, err := json.Marshal([]map[string]string{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": version}, // a conflict if it has another
		{"op": "replace", "path": "/data/" + inject.PolicyFile, "value": policy},
	})
	if err != nil {
		return err
	}
	// By standard input: an argument may have 128 KiB at most, a ConfigMap has 1 MiB.
	_, err = s.kubectl.call(ctx, patch, "patch", "configmap", s.configMap, "--type", "json", "--patch-file", "/dev/stdin")
	return err
}

// wait returns when every sidecar obeys, and tells which do not if the time is up.
func (s *switcher) wait(ctx context.Context) (fleet, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for {
		f, err := inspect(ctx, s.kubectl, s.configMap)
		if err == nil && f.agree() {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return f, fmt.Errorf("the policy is written, but not every sidecar obeys after %v; see injector status -n %s", s.timeout, s.kubectl.namespace)
		case <-time.After(s.pause):
		}
		if err != nil {
			return f, err
		}
	}
}

// readPolicy gives the ConfigMap with the policy, an empty one if there is none.
func readPolicy(ctx context.Context, k *kubectl, configMap string) (*corev1.ConfigMap, error) {
	var c corev1.ConfigMapList
	if err := k.get(ctx, &c, "configmaps", "--field-selector", "metadata.name="+configMap); err != nil {
		return nil, err
	}
	if len(c.Items) == 0 {
		return new(corev1.ConfigMap), nil
	}
	return &c.Items[0], nil
}

var (
	errNoObject = errors.New("not an object of YAML")
	errSpelling = errors.New("the value of enabled is not written as true or false, on its line")
)

// setEnabled changes the one word in the text of a policy, and nothing else of it.
func setEnabled(policy string, on bool) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(policy), &doc); err != nil {
		return "", err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode || doc.Content[0].Style&yaml.FlowStyle != 0 {
		return "", errNoObject
	}
	want := fmt.Sprint(on)
	lines := strings.SplitAfter(policy, "\n")
	top := doc.Content[0].Content
	for i := 0; i < len(top); i += 2 {
		if top[i].Value != "enabled" {
			continue
		}
		value := top[i+1]
		line := &lines[value.Line-1]
		if at := value.Column - 1; value.Kind == yaml.ScalarNode && value.Tag == "!!bool" && value.Style == 0 && strings.HasPrefix((*line)[at:], value.Value) {
			*line = (*line)[:at] + want + (*line)[at+len(value.Value):]
			return strings.Join(lines, ""), nil
		}
		return "", errSpelling
	}
	first := top[0].Line - 1
	return strings.Join(slices.Insert(lines, first, "enabled: "+want+"\n"), ""), nil
}
