package http2

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a gathered connection that counts its writes, and the other end of it, which takes nothing until it is read.
func pipe() (g *gathered, writes *atomic.Int64, peer net.Conn) {
	near, far := net.Pipe()
	writes = new(atomic.Int64)
	return newGathered(countingConn{near, writes}, moment), writes, far
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func TestSmallWritesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, writes, peer := pipe()
		for range 100 {
			if n, err := g.Write([]byte("ten bytes.")); n != 10 || err != nil {
				t.Fatalf("got %d, %v, want 10", n, err)
			}
		}
		got := make([]byte, 1000)
		if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, bytes.Repeat([]byte("ten bytes."), 100)) {
			t.Errorf("got %q, %v", got, err)
		}
		if n := writes.Load(); n > 2 { // one was under way, for which the others waited
			t.Errorf("100 small writes left in %d", n)
		}
		g.Close()
	})
}

func TestWritesOfAllSizesKeepTheirOrder(t *testing.T) {
	g, _, peer := pipe()
	var want []byte
	for i, size := range []int{1, keptGathered, keptGathered + 1, 9, mostGathered, 1, mostGathered + 1, 3 * mostGathered, 2, 100} {
		want = append(want, bytes.Repeat([]byte{byte(i)}, size)...)
	}
	go func() {
		for i := 0; i < len(want); {
			end := i + bytes.LastIndexByte(want[i:], want[i]) + 1
			if n, err := g.Write(want[i:end]); n != end-i || err != nil {
				t.Errorf("a write of %d bytes: got %d, %v", end-i, n, err)
			}
			i = end
		}
		g.Close()
	}()
	got, err := io.ReadAll(peer) // its end is that of all that was written
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, want the %d that were written", len(got), err, len(want))
	}
}

func TestWhoWritesMoreThanMayWaitIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, peer := pipe()
		var taken atomic.Int64
		var writers sync.WaitGroup
		for range 3 {
			writers.Go(func() {
				for range 100 {
					if n, err := g.Write(make([]byte, 1000)); err == nil {
						taken.Add(int64(n))
					}
				}
			})
		}
		synctest.Wait()
		if got := taken.Load(); got == 0 || got > 2*mostGathered {
			t.Errorf("%d bytes were taken from who nobody reads from, want some, and %d at most", got, 2*mostGathered)
		}
		if n, err := io.ReadFull(peer, make([]byte, 300_000)); err != nil {
			t.Errorf("got %d bytes, %v, want all of them", n, err)
		}
		writers.Wait()
		synctest.Wait()
		if got := cap(g.pending); got > keptGathered {
			t.Errorf("%d bytes are kept for nothing, want %d at most", got, keptGathered)
		}
		g.Close()
	})
}

func TestAWriteThatFailedFailsTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, writes, peer := pipe()
		_, _ = g.Write([]byte("taken"))
		synctest.Wait()
		_, _ = g.Write([]byte("waits for that"))
		peer.Close()
		synctest.Wait()
		for _, size := range []int{1, mostGathered} {
			if n, err := g.Write(make([]byte, size)); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("got %d, %v, want what the write before has failed with", n, err)
			}
		}
		if n := writes.Load(); n != 1 {
			t.Errorf("it was written %d times to a connection that is no more, want once", n)
		}
	})
}

func TestCloseSendsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, peer := pipe()
		for _, part := range []string{"a ", "last ", "word"} {
			_, _ = g.Write([]byte(part))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if _, err := g.Write([]byte(" more")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write after Close: got %v, want net.ErrClosed", err)
		}
		synctest.Wait()
		select {
		case <-g.done:
			t.Error("it was closed while something waited to leave")
		default:
		}
		if got, err := io.ReadAll(peer); string(got) != "a last word" || err != nil {
			t.Errorf("got %q, %v, want all that was written", got, err)
		}
	})
}

func TestCloseWaitsForNobodyLong(t *testing.T) {
	for _, size := range []int{10, mostGathered} { // which leaves by another, and by itself
		synctest.Test(t, func(t *testing.T) {
			g, _, peer := pipe()
			var all sync.WaitGroup
			all.Go(func() { _, _ = g.Write(make([]byte, size)) })
			synctest.Wait()
			all.Go(func() { _, _ = g.Write(make([]byte, mostGathered)) })
			reading := make(chan error, 1)
			go func() { _, err := g.Read(make([]byte, 1)); reading <- err }()
			synctest.Wait()
			begun := time.Now()
			g.Close()
			<-reading
			if took := time.Since(begun); took > 0 {
				t.Errorf("who read was held for %v, want an end at once", took)
			}
			all.Wait()
			if took := time.Since(begun); took > moment {
				t.Errorf("%d bytes that nobody reads held it for %v, want %v", size, took, moment)
			}
			<-g.done
			if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the other end: got %v, want its end", err)
			}
		})
	}
}
