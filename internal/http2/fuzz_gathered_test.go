package http2

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// FuzzGathered writes to a connection as script says, a byte for each step, while the other end reads as pace says. What
// arrives is what was taken, in order: all of it, unless writing has failed or who should have read did not.
func FuzzGathered(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1}, []byte{9}, uint16(0))
	f.Add([]byte{120, 3, 255, 0, 60, 200}, []byte{1, 255}, uint16(0))
	f.Add([]byte{128, 64, 3, 1}, []byte{200}, uint16(5000))
	f.Add([]byte{3, 200, 7, 0}, []byte{0, 0, 50, 0}, uint16(0))
	f.Add([]byte{0, 255}, []byte{48}, uint16(0))
	f.Fuzz(func(t *testing.T, script, pace []byte, breaks uint16) {
		if len(script) > 50 || len(pace) > 50 {
			return
		}
		synctest.Test(t, func(t *testing.T) { writeAndRead(t, script, pace, int(breaks)) })
	})
}

// writeAndRead has the connection fail after so many bytes, 0 for never.
func writeAndRead(t *testing.T, script, pace []byte, breaks int) {
	near, far := net.Pipe()
	under := near
	if breaks > 0 {
		under = &breaking{Conn: near, left: breaks}
	}
	g := newGathered(under, moment)
	var got bytes.Buffer
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for i := 0; ; i++ {
			size := 1 << 16
			if len(pace) > 0 {
				size = 1 + int(pace[i%len(pace)])<<6
				time.Sleep(time.Duration(pace[i%len(pace)]) * time.Microsecond)
			}
			n, err := io.CopyN(&got, far, int64(size))
			if err != nil && n < int64(size) {
				return
			}
		}
	}()
	var taken []byte
	failed := false
	for i, step := range script {
		p := bytes.Repeat([]byte{byte(i + 1)}, int(step)*100)
		n, err := g.Write(p)
		taken = append(taken, p[:n]...)
		switch {
		case failed && (n > 0 || err == nil):
			t.Fatalf("step %d: got %d, %v after a write had failed", i, n, err)
		case err != nil && !errors.Is(err, errBroken):
			t.Fatalf("step %d: got %v", i, err)
		case err == nil && n != len(p):
			t.Fatalf("step %d: %d of %d bytes were taken", i, n, len(p))
		}
		failed = failed || err != nil
		if step%7 == 0 {
			time.Sleep(time.Duration(step) * time.Millisecond)
		}
	}
	_ = g.Close()
	if n, err := g.Write([]byte("late")); n != 0 || err == nil {
		t.Errorf("a write after Close: got %d, %v", n, err)
	}
	<-g.done
	<-heard
	want := taken
	if breaks > 0 {
		want = taken[:min(len(taken), breaks)]
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes arrived, want %d of the %d that were taken", got.Len(), len(want), len(taken))
	}
}

// breaking is a connection to which so many bytes may be written.
type breaking struct {
	net.Conn
	left int
}

var errBroken = errors.New("broken")

func (c *breaking) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p[:min(len(p), c.left)])
	c.left -= n
	if err == nil && n < len(p) {
		err = errBroken
	}
	return n, err
}
