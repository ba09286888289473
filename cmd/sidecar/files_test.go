package main

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"graylane/internal/http1"
)

func TestDescriptorsAreKeptForTheAppAndForProbes(t *testing.T) {
	for _, limit := range []int{256, 1024, 20000, 1 << 20} {
		f := &files{limit: limit}
		if f.callers() <= 0 || f.toApp() <= f.callers() || f.ofApp() <= f.toApp() || limit <= f.ofApp() {
			t.Errorf("limit %d: callers up to %d, to the app up to %d, of the app up to %d, want each below the next",
				limit, f.callers(), f.toApp(), f.ofApp())
		}
	}
}

func TestAboveItsMarkASideTakesAndMakesNoConnection(t *testing.T) {
	r := &lines{}
	f := &files{limit: 1024, log: newLogger(r, &settings{LogFormat: "json"})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for mark, want := range map[int]bool{1: false, 1 << 20: true} {
		conn, err := new(guard).dialer(nil, mark)(t.Context(), l.Addr().String())
		if got := err == nil; got != want {
			t.Errorf("mark %d: connecting said %v, want success: %v", mark, err, want)
		}
		if err == nil {
			conn.Close()
		} else if e := http1.ConnectError(t.Context(), "", err); e.Reason != http1.OutOfFiles || !errors.Is(err, syscall.EMFILE) {
			t.Errorf("mark %d: got %v, want %s", mark, e, http1.OutOfFiles)
		}
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !f.free(conn, 1<<20) {
		t.Error("below the mark: refused")
	}
	for range 3 {
		if f.free(conn, 1) {
			t.Error("above the mark: taken")
		}
	}
	if got := len(r.with(t, "connections closed, since the limit of open files (ulimit -n) is nearly reached")); got != 1 {
		t.Errorf("got %d log lines, want one", got)
	}
}
