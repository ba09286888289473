package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// drainTimeout is for one request to the sidecar in the same pod.
const drainTimeout = 5 * time.Second

func drainCmd() *cobra.Command {
	var admin string
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Tell the sidecar of this pod that the pod is about to stop",
		Long: `Drain makes the running sidecar answer 503 on /ready, so that it gets no new
callers, and mark its inbound replies Connection: close, so that those it has go
elsewhere. It serves on until it gets SIGTERM. A preStop hook runs it.`,
		Example: `  sidecar drain
  sidecar drain --admin 127.0.0.1:15000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return drain(cmd.Context(), admin)
		},
	}
	cmd.Flags().StringVar(&admin, "admin", defaultAdmin, "admin `address` of the running sidecar")
	return cmd
}

func drain(ctx context.Context, admin string) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	url := "http://" + admin + "/drain"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return usageError{fmt.Sprintf("admin: got %q, want host:port: %v", admin, err)}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("draining by %s: %w: is the sidecar running, with this --admin?", url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // what of it arrived is shown
		return fmt.Errorf("draining by %s: %s: %s", url, resp.Status, strings.TrimSpace(string(text)))
	}
	return nil
}
