package main

import (
	"net"
	"testing"

	"graylane/test/harness"
)

func TestStoppingSaysOnceThatItWaitsForTheApp(t *testing.T) {
	app, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	const waiting = "waiting for the app to end: its port is open, or it holds connections to us"
	r := start(t, file(t, "policy.yaml", calmPolicy), "--app="+app.Addr().String(), "--drain=20s")
	harness.WaitFor(t, "it has started", func() bool { return len(r.log.with(t, "listening")) == 1 })
	r.stop()
	harness.WaitFor(t, "it says what it waits for", func() bool { return len(r.log.with(t, waiting)) > 0 })
	app.Close()
	if err := <-r.ended; err != nil {
		t.Errorf("run ended with %v, want nil", err)
	}
	lines := r.log.with(t, waiting)
	if len(lines) != 1 {
		t.Fatalf("got %d lines, want one", len(lines))
	}
	if got, want := lines[0]["app"], app.Addr().String(); got != want {
		t.Errorf("app: got %v, want %v", got, want)
	}
}
