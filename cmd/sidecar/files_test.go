package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestTheLimitThatIsAskedForHasRoomForAllConnections(t *testing.T) {
	for _, n := range []int{100, 1024, 20000, 1 << 20} {
		f := &files{limit: filesFor(n)}
		if f.callers()-f.spare() < n || f.toApp()-f.spare() < 2*n {
			t.Errorf("%d connections, limit %d: room for %d callers, and %d with those to the app, want %d and %d",
				n, f.limit, f.callers()-f.spare(), f.toApp()-f.spare(), n, 2*n)
		}
	}
}

func TestALowLimitOfOpenFilesIsSaidWhereMoreIsAskedFor(t *testing.T) {
	const toDo = "max-connections: got 20000, which take up to 60000 open files, and the limit is 59999: " +
		"raise that (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker), or ask for at most 19999"
	for _, c := range []struct {
		name               string
		limit, connections int
		want               []string
	}{
		{"not asked for", 1024, 0, nil},
		{"enough", 60_000, 20_000, nil},
		{"one less", 59_999, 20_000, []string{toDo}},
	} {
		if diff := cmp.Diff((&files{limit: c.limit}).warnings(c.connections), c.want); diff != "" {
			t.Errorf("%s (got -, want +):\n%s", c.name, diff)
		}
	}
}

func TestEverySideServesWhatTheLimitOfOpenFilesHasRoomFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		limit int
		want  int
	}{
		{"not said, and a low limit", nil, 16_000, 9000},
		{"not said, and a high one", nil, 1 << 20, 20_000},
		{"as many as there is room for", []string{"--max-connections=5000"}, 16_000, 5000},
		{"more", []string{"--max-connections=20000"}, 16_000, 9000},
	} {
		f := &files{limit: c.limit}
		sc := &sidecar{settings: mustLoad(t, append(c.flags, "--policy=p")...), files: f}
		if got := sc.maxConnections(&side{mark: f.callers()}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTheStartSaysHowManyConnectionsAreServedAndWhyNotMore(t *testing.T) {
	log := &lines{}
	s := mustLoad(t, "--policy=p", "--inbound=127.0.0.1:0", "--outbound=127.0.0.1:0", "--admin=127.0.0.1:0", "--health=127.0.0.1:0",
		"--grace=0s", "--drain=0s", "--log-format=json", "--max-connections=20000")
	sc, err := newSidecar(t.Context(), s, newLogger(log, s))
	if err != nil {
		t.Fatal(err)
	}
	sc.files.limit = 16_000
	sc.inbound.mark = sc.files.callers()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := sc.run(ctx); err != nil {
		t.Fatal(err)
	}
	if said := log.with(t, "listening"); len(said) != 1 || said[0]["max-connections"] != 9000.0 {
		t.Errorf("got %v, want 9000 connections", said)
	}
	if said := log.with(t, "setting"); len(said) != 1 || !strings.HasPrefix(said[0]["warning"].(string), "max-connections: got 20000, ") {
		t.Errorf("got the warnings %v, want one of max-connections", said)
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
