package http2

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"graylane/internal/http1"
)

// kernel is a memory whose other end has not got yet what it has not read: an end of
// both halves throws that away, as a kernel does with what the peer has no room for.
type kernel struct{ *memory }

func (k kernel) CloseWrite() error {
	k.out.end()
	return nil
}

func (k kernel) Close() error {
	k.out.mu.Lock()
	k.out.bytes.Reset()
	k.out.mu.Unlock()
	return k.memory.Close()
}

// net/http leaves a connection a second after the last reply on it was written.
func TestASlowCallerReadsTheWholeReplyOfWhoDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(http1.Config{CloseOnDrain: true}, handlerFunc(answering))
		defer s.Close()
		caller, served := memoryPair()
		go s.ServeConn(kernel{served.(*memory)}, netip.AddrPort{})
		_, _ = caller.Write(join(greeted, whole(1, true)))
		synctest.Wait()
		s.Drain()
		time.Sleep(2 * time.Second)
		r := newRaw(caller)
		_ = r.WritePing(false, [8]byte{}) // as callers do who take something
		if got := r.outcome(t, 1); got != "200" {
			t.Errorf("got %s, want 200", got)
		}
		caller.Close()
		synctest.Wait()
		if n := s.Conns(); n != 0 {
			t.Errorf("%d connections are left, and their callers are not", n)
		}
	})
}

// halved is a connection whose caller takes no notice of the end of our half.
type halved struct{ net.Conn }

func (halved) CloseWrite() error { return nil }

func TestWhoDoesNotGoIsNotWaitedForLong(t *testing.T) {
	const long = parting + 2*time.Second // of which net/http waits for one
	for name, tt := range map[string]struct {
		end   func(s *Server, caller net.Conn)
		after time.Duration
	}{
		"the server drains":   {func(s *Server, _ net.Conn) { s.Drain() }, long},
		"the caller is mad":   {func(_ *Server, caller net.Conn) { _, _ = caller.Write(make([]byte, 100)) }, long},
		"the caller sends on": {func(s *Server, caller net.Conn) { s.Drain(); go chatter(caller) }, long},
		"the server is closed": {func(s *Server, _ net.Conn) {
			s.Drain()
			time.Sleep(2 * time.Second)
			s.Close()
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(http1.Config{CloseOnDrain: true}, handlerFunc(answering))
				defer s.Close()
				caller, served := net.Pipe()
				defer time.Sleep(2 * time.Second) // until it has noticed
				defer caller.Close()
				go s.ServeConn(halved{served}, netip.AddrPort{})
				go func() { _, _ = io.Copy(io.Discard, caller) }()
				_, _ = caller.Write(join(greeted, whole(1, true)))
				synctest.Wait()
				tt.end(s, caller)
				time.Sleep(tt.after)
				synctest.Wait()
				if n := s.Conns(); n != 0 {
					t.Errorf("%d connections are left", n)
				}
			})
		})
	}
}

// chatter sends for as long as somebody takes it.
func chatter(c net.Conn) {
	for err := error(nil); err == nil; time.Sleep(time.Second) {
		_, err = c.Write(spoken(func(r *raw) { _ = r.WritePing(false, [8]byte{}) }))
	}
}
