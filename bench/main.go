// Command bench measures the sidecar beside other proxies that do the same work.
//
// There are two contests. In that of HTTP every contestant chooses one of two origins by X-Gray, sets X-Gray, and sets
// traceparent where none came. In that of TCP (-tcp) the kernel redirects connections to it, by the rules of
// `sidecar redirect`, and it passes on what comes.
//
// A contestant has core 1 to itself; the load and the origins have core 0. Rounds are interleaved, so that a slow
// minute of the machine falls on all; results are medians, and ratios to HAProxy in the same round. Everything is on
// the loopback of a network namespace of its own, where nobody else's firewall costs anything, and ends with this
// process.
//
// One binary plays all parts (`bench origin`, `bench load` and others), which `bench` itself starts.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// options of a run.
type options struct {
	sidecar  string
	tcp      bool
	rounds   int
	phase    time.Duration
	rate     int
	only     string
	crowd    bool
	patience time.Duration
}

func main() {
	if len(os.Args) > 1 {
		if part, ok := parts()[os.Args[1]]; ok {
			exitOn(part(os.Args[2:]))
			return
		}
	}
	var o options
	flag.StringVar(&o.sidecar, "sidecar", "", "the binary to measure (required)")
	flag.BoolVar(&o.tcp, "tcp", false, "measure raw TCP in place of HTTP")
	flag.IntVar(&o.rounds, "rounds", 5, "how often everything is measured, 1 to 20")
	flag.DurationVar(&o.phase, "phase", 3*time.Second, "length of one measurement, 500ms to 30s")
	flag.IntVar(&o.rate, "rate", 2000, "requests, or connections, a second of the measurement at a fixed rate")
	flag.StringVar(&o.only, "only", "", "comma list of contestants (default all)")
	flag.BoolVar(&o.crowd, "crowd", true, "measure memory at thousands of connections too")
	flag.DurationVar(&o.patience, "patience", time.Minute, "how long to wait, each time, for a machine that does nothing else")
	flag.Parse()
	exitOn(check(&o))
	if !isolated() {
		exitOn(isolate())
		return
	}
	exitOn(run(o))
}

// parts are the roles that this binary plays in processes of its own.
func parts() map[string]func(args []string) error {
	return map[string]func(args []string) error{
		"origin": runOrigin, "load": runLoad, "forwarder": runForwarder, "reverseproxy": runReverseProxy,
		"tcporigin": runTCPOrigin, "tcpforwarder": runTCPForwarder, "visits": runVisits, "streams": runStreams,
	}
}

func check(o *options) error {
	if o.sidecar == "" {
		return fmt.Errorf("-sidecar is missing: make bench builds one and names it")
	}
	path, err := filepath.Abs(o.sidecar)
	if err != nil {
		return err
	}
	o.sidecar = path
	for _, program := range []string{"taskset", "setpriv", "haproxy", "nginx"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: apt-get install haproxy nginx-light util-linux", err)
		}
	}
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("there is one CPU, want two: one for the proxy, one for origins and load")
	}
	if o.rounds < 1 || o.rounds > 20 || o.phase < 500*time.Millisecond || o.phase > 30*time.Second || o.rate < 1 || o.rate > 50000 {
		return fmt.Errorf("-rounds, -phase or -rate is out of its range: see bench -help")
	}
	return nil
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
