package http2

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
)

// slowly is a caller that says one piece each half of the head timeout.
type slowly struct {
	net.Conn
	server  *Server
	served  atomic.Int64 // requests
	refused []string
}

const headTimeout = 10 * time.Second // the default

// newSlowly is for a bubble of synctest.
func newSlowly(t *testing.T, limit time.Duration) *slowly {
	t.Helper()
	c := &slowly{}
	c.server = NewServer(http1.Config{
		HeadTimeout: limit,
		Refused:     func(status int, reason string) { c.refused = append(c.refused, fmt.Sprint(status, " ", reason)) },
	}, handlerFunc(func(x *Exchange) {
		_, _ = io.Copy(io.Discard, x.body.from)
		answering(x)
		c.served.Add(1)
	}))
	near, far := net.Pipe()
	c.Conn = near
	go c.server.ServeConn(far, netip.AddrPort{})
	go func() { _, _ = io.Copy(io.Discard, near) }()
	return c
}

// say says the pieces, the last of which is followed by silence.
func (c *slowly) say(pieces ...[]byte) {
	for _, piece := range pieces {
		_, _ = c.Write(piece) // fails once the server has had enough
		time.Sleep(headTimeout / 2)
	}
}

func (c *slowly) end() {
	c.Close()
	c.server.Close()
	synctest.Wait()
}

// spoken is what f writes in frames.
func spoken(f func(r *raw)) []byte {
	var said bytes.Buffer
	f(&raw{Framer: http2.NewFramer(&said, nil)})
	return said.Bytes()
}

var (
	greeted = append([]byte(preface), spoken(func(r *raw) { _ = r.WriteSettings() })...)
	// block is a head, packed: GET / by http.
	block = []byte{0x82, 0x84, 0x86}
)

// begun is a head that goes on with continued.
func begun(stream uint32) []byte {
	return spoken(func(r *raw) { _ = r.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndStream, stream, block) })
}

func continued(stream uint32, end bool) []byte {
	return spoken(func(r *raw) { _ = r.WriteContinuation(stream, end, nil) })
}

// whole is a request, or the head of one with a body.
func whole(stream uint32, end bool) []byte {
	return spoken(func(r *raw) { r.heads(stream, end, head()...) })
}

func join(pieces ...[]byte) []byte { return bytes.Join(pieces, nil) }

func TestAHeadThatDoesNotComeInTimeEndsTheConnection(t *testing.T) {
	for name, pieces := range map[string][][]byte{
		"no last frame":               {greeted, begun(1)},
		"in one piece with the start": {join(greeted, begun(1))},
		"half of its frame":           {greeted, whole(1, true)[:frameHead+2]},
		"a frame without its payload": {greeted, whole(1, true)[:frameHead]},
		"a frame of unknown kind":     {greeted, whole(1, true)[:3]},
		"frames that go on and on":    {greeted, begun(1), continued(1, false), continued(1, false), continued(1, false)},
		"after a whole one":           {greeted, join(whole(1, true), begun(3))},
		"the trailers of a request":   {greeted, whole(1, false), begun(1)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSlowly(t, 0)
				defer c.end()
				c.say(pieces...)
				synctest.Wait()
				if open := c.server.Conns() == 1; open != (len(pieces) < 4) {
					t.Errorf("the connection is there: %v", open)
				}
				time.Sleep(headTimeout / 2)
				synctest.Wait()
				if c.server.Conns() != 0 || len(c.refused) != 1 || c.refused[0] != "408 caller_timeout" {
					t.Errorf("got %d connections and %q refused, want none, for its caller's timeout", c.server.Conns(), c.refused)
				}
			})
		})
	}
}

func TestNobodyWhoSendsWholeHeadsIsCutOff(t *testing.T) {
	halves := func(b []byte) [][]byte { return [][]byte{b[:len(b)/2], b[len(b)/2:]} }
	data := spoken(func(r *raw) { _ = r.WriteData(1, true, make([]byte, 100)) })
	ping := spoken(func(r *raw) { _ = r.WritePing(false, [8]byte{}) })
	a, b := halves(whole(1, true)), halves(whole(3, true))
	for name, tt := range map[string]struct {
		pieces [][]byte
		want   int64
	}{
		"silence":                        {pieces: [][]byte{greeted, nil, nil, nil, ping, nil, nil, nil}},
		"a head in two pieces":           {pieces: [][]byte{greeted, a[0], a[1], nil, nil, nil}, want: 1},
		"with each piece one is unended": {pieces: [][]byte{greeted, a[0], join(a[1], b[0]), join(b[1], whole(5, true)[:4]), whole(5, true)[4:]}, want: 3},
		"an empty frame behind it":       {pieces: [][]byte{greeted, begun(1), continued(1, true), nil, nil, nil}, want: 1},
		"a body in pieces":               {pieces: [][]byte{greeted, whole(1, false), data[:frameHead+1], nil, nil, nil, data[frameHead+1:]}, want: 1},
		"a ping in pieces":               {pieces: [][]byte{greeted, ping[:frameHead+1], nil, nil, nil, ping[frameHead+1:], whole(1, true)}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSlowly(t, headTimeout)
				defer c.end()
				c.say(tt.pieces...)
				synctest.Wait()
				if got := c.served.Load(); got != tt.want || c.server.Conns() != 1 || len(c.refused) > 0 {
					t.Errorf("got %d requests, %d connections and %q refused, want %d, 1 and none", got, c.server.Conns(), c.refused, tt.want)
				}
			})
		})
	}
}

func TestHeadsMayTakeForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSlowly(t, -1)
		defer c.end()
		c.say(greeted, begun(1), nil, nil, nil, continued(1, true))
		if got := c.served.Load(); got != 1 {
			t.Errorf("got %d requests, want 1: there is no limit", got)
		}
	})
}

func TestNobodyIsLateWhereWeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := NewServer(http1.Config{Refused: func(status int, reason string) { t.Errorf("refused: %d %s", status, reason) }}, nil)
		c := s.newConn(far, netip.AddrPort{})
		go func() { _, _ = io.Copy(io.Discard, c) }()
		_, _ = near.Write(join(greeted, begun(1)))
		_, _ = c.Write([]byte("what nobody reads holds the end up"))
		synctest.Wait()
		_ = c.Close()
		<-c.done
	})
}
