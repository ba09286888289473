package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// containers is the shop of compose.yaml.
type containers struct {
	command []string // docker compose, or what was before it
	dir     string   // of the policy
}

// What compose.yaml publishes, and the addresses that it gives: the entry is the first of seven.
const (
	composeEntry  = "http://127.0.0.1:22000/"
	composeHealth = "http://127.0.0.1:22%03d" // with 2, 12, 22 and so on
	composePod    = "172.29.77.%d:15006"      // from 11
)

// runCompose builds the images, starts the shop, shows it and takes it down.
func runCompose(ctx context.Context, s settings, out io.Writer) (err error) {
	dir, err := filepath.Abs(filepath.Join(s.dir, "policy"))
	if err != nil {
		return fmt.Errorf("find the folder of the policy: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the policy: %w", err)
	}
	c := &containers{command: []string{"docker", "compose"}, dir: dir}
	if exec.CommandContext(ctx, "docker", "compose", "version").Run() != nil {
		c.command = []string{"docker-compose"} // 1.29 does, where the plugin is not
	}
	if err := c.write(c.policy(firstRules)); err != nil {
		return err
	}
	entry := visitor{client: newClient(nil), url: composeEntry}
	if err := progress(out, "building the images", func() error { return c.run(ctx, "build") }); err != nil {
		return err
	}
	defer func() {
		// Also after Ctrl-C, which has ended ctx.
		if downErr := c.run(context.WithoutCancel(ctx), "down", "--timeout", "1"); err == nil {
			err = downErr
		}
	}()
	err = progress(out, "starting 7 sidecars and 6 apps", func() error {
		if err := c.run(ctx, "up", "--detach"); err != nil {
			return err
		}
		return c.waitReady(ctx, entry)
	})
	if err != nil {
		return err
	}
	if err := newShow(c, entry, out).run(ctx); err != nil || s.once {
		return err
	}
	fmt.Fprintf(out, "\nThe shop stays up at %s; its policy is %s. Ctrl-C ends everything.\n", composeEntry, c.policyPath())
	<-ctx.Done()
	return nil
}

// run runs a command of compose; what it says is told if it fails.
func (c *containers) run(ctx context.Context, args ...string) error {
	args = append(append(c.command[1:len(c.command):len(c.command)], "--project-name", "graylane-demo", "--file", "demo/compose.yaml"), args...)
	cmd := exec.CommandContext(ctx, c.command[0], args...)
	cmd.Env = append(os.Environ(), "SHOP_POLICY="+c.dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w (the demo runs inside the checkout only)\n%s", cmd, err, text)
	}
	return nil
}

func (c *containers) policyPath() string        { return filepath.Join(c.dir, "policy.yaml") }
func (c *containers) write(policy string) error { return replaceFile(c.policyPath(), policy) }

func (c *containers) policy(rules string) string {
	next := 10
	return policyText(rules, func(string, string) string {
		next++ // as compose.yaml has the services, in the same order
		return fmt.Sprintf(composePod, next)
	}) + "routes:\n  - {path: /, service: front}\n"
}

// health is where the sidecar of each pod tells of itself; the entry is the first.
func health(pod int) string { return fmt.Sprintf(composeHealth, 10*pod+2) }

const composePods = 7

// waitReady returns when every sidecar is ready, and its callers have seen that.
func (c *containers) waitReady(ctx context.Context, v visitor) error {
	for pod := range composePods {
		if err := c.waitOne(ctx, pod); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthPatience, errors.New("not every pod is used, though all are ready"))
	defer cancel()
	return wait(ctx, func() bool {
		visit, err := v.visit(ctx, 1)
		return err == nil && slices.Equal(visit.tags, []string{"gray", "gray", "gray"})
	})
}

func (c *containers) waitOne(ctx context.Context, pod int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("%s/ready does not answer after %v", health(pod), startPatience))
	defer cancel()
	return wait(ctx, func() bool { return answers(ctx, health(pod)+"/ready") })
}

// policies asks for the metrics: the admin port is on loopback, which each container has for itself.
func (c *containers) policies(ctx context.Context) ([]policyInForce, error) {
	digest := regexp.MustCompile(`(?m)^graylane_policy_info{digest="(\w*)"} 1$`)
	var all []policyInForce
	for pod := range composePods {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, health(pod)+"/metrics", nil)
		if err != nil {
			return nil, err
		}
		page, err := fetch(http.DefaultClient, r)
		if err != nil {
			return nil, err
		}
		in := policyInForce{Valid: strings.Contains(page, "\ngraylane_policy_valid 1\n")}
		if found := digest.FindStringSubmatch(page); found != nil {
			in.Digest = found[1]
		}
		all = append(all, in)
	}
	return all, nil
}

// stopGrayUsers takes the pod down as a cluster does: the sidecar drains while the app still serves.
func (c *containers) stopGrayUsers(ctx context.Context) error {
	if err := c.run(ctx, "stop", "users-gray-sidecar"); err != nil {
		return err
	}
	return c.run(ctx, "stop", "--timeout", "1", "users-gray")
}

func (c *containers) startGrayUsers(ctx context.Context) error {
	for _, service := range []string{"users-gray", "users-gray-sidecar"} {
		if err := c.run(ctx, "start", service); err != nil {
			return err
		}
	}
	return c.waitOne(ctx, composePods-1)
}
