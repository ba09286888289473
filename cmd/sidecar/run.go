package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"graylane/internal/listen"
)

func runCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the sidecar of one pod",
		Long: `Run takes calls from other pods on --inbound and hands them to --app, and takes
the app's calls on --outbound, as its HTTP proxy, and sends each to the version of
the service that carries the request's tag. It reads --policy, and again whenever
the file changes; a bad policy changes nothing.

Every flag can be set by the environment as well (--ledger-ttl is
GRAYLANE_LEDGER_TTL) and by the file of --config (ledger-ttl: 5m); a flag wins over
the environment, and the environment over the file. An unknown key of the file is an
error; an unknown variable is warned of, since Kubernetes makes some that look alike.
Durations are written as 30s or 5m, sizes as 65536 or 64KiB, lists with commas.

SIGTERM makes it unready, lets it accept for --grace and drain for --drain. A second
one ends it at once.`,
		Example: `  sidecar run --policy /etc/graylane/policy.yaml --service users --tag gray
  GRAYLANE_POLICY=policy.yaml sidecar run --app 127.0.0.1:9000 --access-log`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags())
			if err != nil {
				return err
			}
			log := newLogger(cmd.ErrOrStderr(), s)
			slog.SetLogLoggerLevel(slog.LevelDebug) // net/http tells package log what is wrong with origins
			slog.SetDefault(log)
			return run(cmd.Context(), s, log)
		},
	}
	addFlags(cmd.Flags())
	return cmd
}

// run runs one sidecar until ctx ends or the process is told to stop.
func run(ctx context.Context, s *settings, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// The first signal ends ctx; from then on the next one has its default
	// effect, which is to end the process at once.
	context.AfterFunc(ctx, stop)

	sc, err := newSidecar(ctx, s, log)
	if err != nil {
		return err
	}
	return sc.run(ctx)
}

func newLogger(w io.Writer, s *settings) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// logStart says who this is, where it listens and by which policy, once the policy
// file has been looked at.
func (sc *sidecar) logStart(ctx context.Context) {
	sc.awaitLook(ctx)
	digest := "none"
	if p := sc.store.Load(); p != nil {
		digest = p.Digest
	}
	sc.log.Info("listening",
		"version", buildVersion(), "pid", os.Getpid(),
		"inbound", addresses(sc.inbound.set), "outbound", addresses(sc.outbound.set),
		"gateway", addresses(sc.gateway.set), "admin", addresses(sc.admin), "health", addresses(sc.health),
		"app", sc.settings.App, "service", sc.settings.Service, "tag", sc.settings.Tag,
		"zone", sc.settings.Zone, "max-connections", sc.maxConnections(sc.inbound), "policy", sc.settings.Policy, "digest", digest)
	for _, warning := range slices.Concat(sc.settings.Warnings, sc.files.warnings(sc.settings.MaxConnections)) {
		sc.log.Warn("setting", "warning", warning)
	}
	for _, set := range []*listen.Set{sc.inbound.set, sc.outbound.set, sc.gateway.set, sc.admin, sc.health} {
		for _, err := range set.Skipped() {
			sc.log.Warn("address left out", "error", err)
		}
	}
}

// addresses gives what a set is bound to as the flags have it.
func addresses(set *listen.Set) string {
	var list []string
	for _, addr := range set.Addrs() {
		list = append(list, addr.String())
	}
	return strings.Join(list, ",")
}
