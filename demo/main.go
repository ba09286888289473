// Command demo is a small shop of three services, each with a base and a gray version, to try it all.
//
// It builds the sidecar, starts an entry sidecar and six pods (an app and its sidecar each, every one a process of
// its own) on loopback, sends twelve users through while the policy changes, and then stays up to be played with.
// The app of every pod is this binary again; it forwards one header, traceparent, and knows nothing of tags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Usage: go run ./demo [flags]

Starts front -> orders -> users, each with a base and a gray version and a sidecar beside every app, shows what
the policy does to twelve users, and stays up until Ctrl-C.

`

// settings are the flags of the demo.
type settings struct {
	once     bool
	compose  bool
	portBase int
	dir      string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "app" {
		exit(runApp(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "visit" {
		exit(runVisit(context.Background(), os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the demo at once, and the kernel its children
	exit(run(ctx, os.Args[1:], os.Stdout))
}

// errUsage is an error of the command line, which has been told already.
var errUsage = errors.New("usage")

func exit(err error) {
	switch {
	case err == nil:
		os.Exit(0)
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run shows the demo until it is through, with --once, or until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return errUsage
	}
	ctx, cancel := context.WithCancelCause(endWithParent(ctx))
	defer cancel(nil)
	if s.compose {
		return interrupted(ctx, runCompose(ctx, s, out))
	}
	shop := newShop(s.portBase, s.dir)
	if err := shop.checkPorts(); err != nil {
		return err
	}
	defer shop.stop()
	if err := shop.start(ctx, cancel, out); err != nil {
		return interrupted(ctx, err)
	}
	if err := newShow(shop, shop.visitor(), out).run(ctx); err != nil {
		return interrupted(ctx, err)
	}
	if s.once {
		return nil
	}
	if err := shop.invite(out); err != nil {
		return err
	}
	<-ctx.Done()
	fmt.Fprintln(out, "\nstopping")
	return interrupted(ctx, nil)
}

// interrupted gives the reason why ctx ended before its effects; Ctrl-C is no error.
func interrupted(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.As(cause, new(*childError)):
		return cause
	default:
		return nil
	}
}

func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&s.once, "once", false, "end after the show, with exit code 0 if all went as it should")
	flags.BoolVar(&s.compose, "compose", false, "run demo/compose.yaml with Docker instead, at the ports that it names")
	flags.IntVar(&s.portBase, "port-base", 21000, "first of the 70 ports of 127.0.0.1 that the demo uses")
	flags.StringVar(&s.dir, "dir", ".demo", "folder for the policy, the logs and the sidecar's binary")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 || s.portBase < 1 || s.portBase > 65535-portsUsed {
		err := fmt.Errorf("want no arguments and a --port-base from 1 to %d", 65535-portsUsed)
		fmt.Fprintln(out, err)
		return s, err
	}
	return s, nil
}
