package differential

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"graylane/test/harness"
)

// tap stands in front of an origin and records what it is told.
type tap struct {
	listener net.Listener
	origin   string
	work     sync.WaitGroup

	mu    sync.Mutex
	heard bytes.Buffer
	open  []net.Conn
}

func newTap(t testing.TB, origin string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	p := &tap{listener: l, origin: origin}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.work.Wait()
	})
	return p
}

func (p *tap) address() string { return p.listener.Addr().String() }

// take gives what the origin heard since the last take.
func (p *tap) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.heard.String()
	p.heard.Reset()
	return text
}

func (p *tap) accept() {
	for {
		caller, err := p.listener.Accept()
		if err != nil {
			return
		}
		origin, err := net.Dial("tcp", p.origin)
		if err != nil {
			_ = caller.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, caller, origin)
		p.mu.Unlock()
		p.work.Go(func() { pass(origin, io.TeeReader(caller, p)) })
		p.work.Go(func() { pass(caller, origin) })
	}
}

// pass copies to the end of a direction. An error shows at both ends of the connection.
func pass(dst net.Conn, src io.Reader) {
	_, _ = io.Copy(dst, src)
	_ = dst.(*net.TCPConn).CloseWrite()
}

// Write records.
func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard.Write(b)
}
