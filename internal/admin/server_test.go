package admin_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"graylane/internal/admin"
)

func TestSlowClientsAreCutOff(t *testing.T) {
	tests := []struct {
		name, sends string
		want        time.Duration
	}{
		{"silence", "", 5 * time.Second},
		{"half a head", "GET /live HTTP/1.1\r\nHost: lo", 5 * time.Second},
		{"half a body", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf", 10 * time.Second},
		{"nothing after a request", "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n", 90 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := connect(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // as far as it comes
				}))
				start := time.Now()
				if _, err := io.WriteString(conn, test.sends); err != nil {
					t.Fatal(err)
				}
				_, _ = io.ReadAll(conn) // until it is cut off
				if got := time.Since(start); got != test.want {
					t.Errorf("got cut off after %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestALongHeadIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := connect(t, http.NotFoundHandler())
		head := "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 64<<10) + "\r\n\r\n"
		go fmt.Fprint(conn, head) // fails half way
		reply, _ := io.ReadAll(conn)
		if !bytes.HasPrefix(reply, []byte("HTTP/1.1 431 ")) {
			t.Errorf("got %.40q, want 431", reply)
		}
	})
}

// connect serves h over a connection in memory, and gives the client's end of it.
func connect(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	l := &pipeListener{conns: make(chan net.Conn, 1)}
	l.conns <- theirs
	s := admin.NewServer(h, slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		ours.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("got %v from Serve, want http.ErrServerClosed", err)
		}
	})
	return ours
}

// pipeListener gives the connections that its channel holds.
type pipeListener struct{ conns chan net.Conn }

func (l *pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l *pipeListener) Close() error {
	close(l.conns)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 15000} }
