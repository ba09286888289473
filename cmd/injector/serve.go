package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"graylane/internal/inject"
)

// serveFlags is what `serve` was told beside the options.
type serveFlags struct {
	options   optionFlags
	listen    string
	namespace string
	service   string
	secret    string
	webhooks  string
	tlsDir    string
	grace     time.Duration
	logFormat string
}

func serveCmd() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the admission webhooks that add the sidecar to new pods",
		Long: `Serve answers the API server, over TLS: at /mutate it adds the sidecar to pods, at
/validate/namespace and /validate/pods it refuses workloads whose pods it would
refuse, with the reason. GET /ready is for the kubelet.

It makes its certificate itself and replaces it in time: in a Secret that all
replicas share, with the authority in the webhook configurations. With --tls-dir
somebody else does, such as cert-manager, and no right on the cluster is needed.`,
		Example: `  injector serve --image graylane/sidecar:v1 --namespace graylane
  injector serve --image graylane/sidecar:v1 --tls-dir /etc/graylane/tls`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := f.options.read()
			if err != nil {
				return err
			}
			log, err := f.logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return f.serve(cmd.Context(), options, log)
		},
	}
	f.options.add(cmd.Flags())
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", ":8443", "`address` to serve at")
	fs.StringVar(&f.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "`namespace` that the injector runs in (default $POD_NAMESPACE)")
	fs.StringVar(&f.service, "service", "graylane-injector", "`name` of the Service that the API server calls")
	fs.StringVar(&f.secret, "secret", "graylane-injector-tls", "`name` of the Secret that keeps the certificate")
	fs.StringVar(&f.webhooks, "webhooks", "graylane-injector", "`name` of the mutating and of the validating webhook configuration")
	fs.StringVar(&f.tlsDir, "tls-dir", "", "`folder` with tls.crt and tls.key that somebody else keeps (default made and kept in the Secret)")
	fs.DurationVar(&f.grace, "grace", 5*time.Second, "after SIGTERM: how long to accept still, until the endpoint is withdrawn")
	fs.StringVar(&f.logFormat, "log-format", "text", "`format` of the log: text or json")
	return cmd
}

func (f *serveFlags) logger(out io.Writer) (*slog.Logger, error) {
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(out, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, nil)), nil
	}
	return nil, usageError{fmt.Errorf("log-format: got %q, want text or json", f.logFormat)}
}

// serve runs until ctx ends, and then through the grace.
func (f *serveFlags) serve(ctx context.Context, options inject.Options, log *slog.Logger) error {
	if f.namespace == "" && f.tlsDir == "" {
		return usageError{errors.New("namespace: required, want the namespace of the Secret and the Service")}
	}
	api, err := inCluster()
	if err != nil && f.tlsDir == "" {
		return err
	}
	if api != nil {
		options.Server = f.version(ctx, api, log)
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	certificate, keep := f.certificates(api, log)
	kept := make(chan struct{})
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(kept)
		keep(keeping)
	}()
	defer func() {
		stop()
		<-kept
	}()
	log.Info("serving", "address", listener.Addr(), "image", options.Image, "kubernetes", options.Server)
	return serveTLS(ctx, listener, newReviewer(options, log), certificate, f.grace)
}

// version asks for the API server's, which is not known if it does not answer.
func (f *serveFlags) version(ctx context.Context, api *cluster, log *slog.Logger) string {
	v, err := api.version(ctx)
	if err != nil {
		log.Warn("cannot ask for the version of the API server, and take it to be new enough", "error", err)
	}
	return v
}

type certificateFunc func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// certificates says where the certificate comes from, and what must run to keep it good.
func (f *serveFlags) certificates(api *cluster, log *slog.Logger) (certificateFunc, func(context.Context)) {
	if f.tlsDir != "" {
		files := &folder{dir: f.tlsDir, now: time.Now}
		return files.certificate, func(context.Context) {}
	}
	k := &keeper{
		cluster: api, namespace: f.namespace, secret: f.secret, webhooks: f.webhooks,
		host: f.service + "." + f.namespace + ".svc", now: time.Now, log: log,
	}
	return k.certificate, k.run
}

// finishTime is for the reviews under way; the API server gives up after ten seconds by default.
const finishTime = 10 * time.Second

func serveTLS(ctx context.Context, l net.Listener, r *reviewer, certificate certificateFunc, grace time.Duration) error {
	server := &http.Server{
		Handler:           r.routes(),
		TLSConfig:         &tls.Config{GetCertificate: certificate, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(r.log.Handler(), slog.LevelDebug), // scanners and probes that leave early
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(l, "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	r.log.Info("stopping", "grace", grace)
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(grace):
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	if err := server.Shutdown(finish); err != nil {
		return errors.Join(fmt.Errorf("reviews under way were cut: %w", err), server.Close())
	}
	return nil
}
