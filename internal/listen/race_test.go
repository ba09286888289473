package listen

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// origin is a server that a Detector may connect to: dial, and its end of the
// connection once there is one.
func origin(t *testing.T) (Dial, <-chan *net.TCPConn) {
	t.Helper()
	accepted := make(chan *net.TCPConn, 1)
	return func(context.Context) (*net.TCPConn, error) {
		ours, theirs := connected(t)
		accepted <- theirs
		return ours, nil
	}, accepted
}

func TestAnOriginThatSpeaksFirstDecides(t *testing.T) {
	for _, said := range []string{"", "GE"} { // a slow word does not make it HTTP
		ours, theirs := connected(t)
		dial, accepted := origin(t)
		result := detect(t, &Detector{Silence: time.Nanosecond, Doubt: never, Patience: never}, ours, dial)
		write(t, theirs, said)
		server := <-accepted
		write(t, server, "220 mail")
		got := await(t, result)
		if got.err != nil || got.Protocol != TCP || got.Origin == nil {
			t.Fatalf("%q: got %v, %v, connection %v, want %v and the connection", said, got.Protocol, got.err, got.Origin, TCP)
		}
		server.Close()
		if banner, err := io.ReadAll(got.Origin); err != nil || string(banner) != "220 mail" {
			t.Errorf("%q: read %q, %v, want the whole banner", said, banner, err)
		}
	}
}

func TestACallerThatSpeaksFirstDecides(t *testing.T) {
	ours, theirs := connected(t)
	dial, accepted := origin(t)
	result := detect(t, eager(), ours, dial)
	server := <-accepted // it was silent for so long
	write(t, theirs, "GET / HTTP/1.1\r\n\r\n")
	got := await(t, result)
	if got.err != nil || got.Protocol != HTTP1 || got.Origin == nil {
		t.Fatalf("got %v, %v, connection %v, want %v and the connection", got.Protocol, got.err, got.Origin, HTTP1)
	}
	// Both connections are as good as new.
	write(t, server, "hello")
	server.Close()
	if reply, err := io.ReadAll(got.Origin); err != nil || string(reply) != "hello" {
		t.Errorf("from the origin: got %q, %v, want hello", reply, err)
	}
	theirs.CloseWrite()
	if request, err := io.ReadAll(ours); err != nil || string(request) != "GET / HTTP/1.1\r\n\r\n" {
		t.Errorf("from the caller: got %q, %v, want the request", request, err)
	}
}

func TestAPromptCallerCostsTheOriginNoConnection(t *testing.T) {
	ours, theirs := connected(t)
	write(t, theirs, "GET / HTTP/1.1\r\n\r\n")
	arrived(t, ours, 18)
	dial, accepted := origin(t)
	if got := await(t, detect(t, eager(), ours, dial)); got.Protocol != HTTP1 || got.Origin != nil || len(accepted) != 0 {
		t.Errorf("got %v, connection %v, want %v and none", got.Protocol, got.Origin, HTTP1)
	}
}

func TestAnOriginThatRefusesRefusesTheCaller(t *testing.T) {
	ours, _ := connected(t)
	dial := func(context.Context) (*net.TCPConn, error) { return nil, syscall.ECONNREFUSED }
	if got := await(t, detect(t, eager(), ours, dial)); !errors.Is(got.err, syscall.ECONNREFUSED) || got.Origin != nil {
		t.Errorf("got %v, want refused", got.err)
	}
}

func TestAnOriginThatResetsIsAnError(t *testing.T) {
	ours, _ := connected(t)
	dial, accepted := origin(t)
	result := detect(t, eager(), ours, dial)
	server := <-accepted
	if err := server.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if got := await(t, result); !errors.Is(got.err, syscall.ECONNRESET) || got.Origin != nil {
		t.Errorf("got %v, connection %v, want a reset and none", got.err, got.Origin)
	}
}

func TestAnOriginThatEndsIsPassedOn(t *testing.T) {
	ours, _ := connected(t)
	dial, accepted := origin(t)
	result := detect(t, eager(), ours, dial)
	(<-accepted).Close()
	if got := await(t, result); got.err != nil || got.Protocol != TCP || got.Origin == nil {
		t.Errorf("got %v, %v, connection %v, want %v and the connection", got.Protocol, got.err, got.Origin, TCP)
	}
}

func TestADialThatHangsDoesNotHoldUpTheCaller(t *testing.T) {
	ours, theirs := connected(t)
	dialing := make(chan struct{})
	dial := func(ctx context.Context) (*net.TCPConn, error) {
		close(dialing)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	result := detect(t, eager(), ours, dial)
	<-dialing
	write(t, theirs, "GET / HTTP/1.1\r\n\r\n")
	if got := await(t, result); got.err != nil || got.Protocol != HTTP1 || got.Origin != nil {
		t.Errorf("got %v, %v, want %v", got.Protocol, got.err, HTTP1)
	}
}
