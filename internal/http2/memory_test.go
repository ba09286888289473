package http2

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// memory is one end of a connection that needs no kernel, and so can be used in a
// bubble of synctest. It takes whatever is written.
type memory struct {
	in, out *stream
}

func memoryPair() (a, b net.Conn) {
	x, y := newStream(), newStream()
	return &memory{x, y}, &memory{y, x}
}

func (m *memory) Read(p []byte) (int, error)  { return m.in.read(p) }
func (m *memory) Write(p []byte) (int, error) { return m.out.write(p) }

func (m *memory) Close() error {
	m.in.end()
	m.out.end()
	return nil
}

func (*memory) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*memory) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*memory) SetDeadline(time.Time) error      { return nil }
func (*memory) SetReadDeadline(time.Time) error  { return nil }
func (*memory) SetWriteDeadline(time.Time) error { return nil }

// stream is one direction.
type stream struct {
	mu      sync.Mutex
	changed *sync.Cond
	bytes   bytes.Buffer
	ended   bool
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes.Len() == 0 {
		if s.ended {
			return 0, io.EOF
		}
		s.changed.Wait()
	}
	return s.bytes.Read(p)
}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, net.ErrClosed
	}
	s.changed.Broadcast()
	return s.bytes.Write(p)
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed.Broadcast()
}
