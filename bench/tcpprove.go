package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"
)

// prove checks that callers of the origin get to the contestant and to nobody else, that bytes arrive as they were, and
// that the end of one side does not end the other.
func (t *tcpContest) prove(c contestant) error {
	if err := t.redirect(c); err != nil {
		return err
	}
	if c.command != nil {
		if conn, err := net.Dial("tcp4", tcpOrigin); !errors.Is(err, syscall.ECONNREFUSED) {
			if err == nil {
				_ = conn.Close()
			}
			return fmt.Errorf("before it runs, its callers get: %w, want a refusal", err)
		}
	}
	p, err := t.start(c)
	if err != nil {
		return err
	}
	if p != nil {
		defer p.stop()
	}
	return mirrored(4 << 20)
}

// mirrored sends bytes, ends that side, and wants the same bytes back.
func mirrored(size int) error {
	dialed, err := net.DialTimeout("tcp4", tcpOrigin, 10*time.Second)
	if err != nil {
		return err
	}
	defer dialed.Close()
	conn := dialed.(*net.TCPConn)
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	sent := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(sent) // cannot fail
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(append([]byte{orderMirror}, sent...))
		written <- errors.Join(err, conn.CloseWrite())
	}()
	got, err := io.ReadAll(conn)
	if err := errors.Join(err, <-written); err != nil {
		return fmt.Errorf("after %d of %d bytes: %w", len(got), size, err)
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("%d bytes came back, of %d, and others", len(got), size)
	}
	return nil
}
