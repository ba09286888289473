package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
)

// readRequest reads a request head as an Exchange does.
func readRequest(r *Request, b []byte) (int, error) {
	n, err := r.scan(b)
	if err != nil {
		return 0, err
	}
	r.head.raw = r.head.raw[:n]
	if err := r.inspect(nil); err != nil {
		return 0, err
	}
	if r.exact {
		return n, newParsers().agree(r)
	}
	return n, nil
}

// fuzzed is how long an input may be: longer ones find nothing that short ones do not.
const fuzzed = 2 << 10

func FuzzRequestHead(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1⏎Host: h⏎⏎",
		"POST http://u@h:1/a?b HTTP/1.1⏎host: x⏎Content-Length: 3⏎Connection: close, X⏎X: y⏎⏎",
		"POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: gzip, chunked⏎TE: trailers⏎⏎",
		"CONNECT [::1]:443 HTTP/1.1⏎Host: h⏎⏎",
		"OPTIONS * HTTP/1.0⏎Connection: keep-alive⏎⏎",
		"GET / HTTP/1.1⏎Host: h⏎Upgrade: websocket⏎Connection: Upgrade⏎⏎",
	} {
		f.Add([]byte(crlf(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > fuzzed {
			return
		}
		var r Request
		n, err := readRequest(&r, bytes.Clone(data))
		checkPieces(t, data, n, err)
		if err != nil {
			return
		}
		x := Exchange{Req: r, to: sending{origin: NewOrigin("origin:80", OriginConfig{})}}
		out := x.appendRequest(nil)
		var again Request
		m, err := readRequest(&again, bytes.Clone(out))
		if err != nil || m != len(out) {
			t.Fatalf("%q was sent on as %q, which is read as %d bytes, %v", data[:n], out, m, err)
		}
		if again.framing != r.framing || again.length != r.length || again.minor != 1 || !bytes.Equal(again.Method(), r.Method()) {
			t.Errorf("%q was sent on as %q, which says something else", data[:n], out)
		}
		checkFraming(t, out, r.framing, r.length)
	})
}

// checkPieces reads data byte by byte and wants the same as from one piece.
func checkPieces(t *testing.T, data []byte, n int, err error) {
	t.Helper()
	var r Request
	for i := range len(data) + 1 {
		m, e := r.scan(bytes.Clone(data[:i]))
		if e == errMore {
			continue
		}
		if e == nil {
			r.head.raw = r.head.raw[:m]
			if e = r.inspect(nil); e == nil && r.exact {
				e = newParsers().agree(&r)
			}
		}
		if (e == nil) != (err == nil) || e == nil && m != n {
			t.Errorf("%q: byte by byte %d, %v; at once %d, %v", data, m, e, n, err)
		}
		return
	}
	if err != errMore {
		t.Errorf("%q: byte by byte needs more; at once %d, %v", data, n, err)
	}
}

// checkFraming asks net/http what it makes of a head that goes to an origin.
func checkFraming(t *testing.T, out []byte, f framing, length int64) {
	t.Helper()
	q, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(out)))
	if err != nil {
		return // it refuses more than we do: nothing was misread
	}
	want := length
	switch f {
	case noBody:
		want = 0
	case byChunks:
		want = -1
	}
	if q.ContentLength != want {
		t.Errorf("%q: net/http reads a length of %d, want %d", out, q.ContentLength, want)
	}
}

func FuzzReplyHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK⏎Content-Length: 3⏎⏎",
		"HTTP/1.1 200⏎Transfer-Encoding: chunked⏎Trailer: X⏎Keep-Alive: timeout=5, max=100⏎⏎",
		"HTTP/1.0 304 Not Modified⏎Connection: keep-alive, X⏎X: y⏎ z⏎⏎",
		"HTTP/1.1 101 Switching Protocols⏎Upgrade: x⏎⏎",
	} {
		f.Add([]byte(crlf(s)), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, head bool) {
		if len(data) > fuzzed {
			return
		}
		method := "GET"
		if head {
			method = "HEAD"
		}
		var r Request
		if _, err := readRequest(&r, []byte(method+" / HTTP/1.1\r\nHost: h\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		read := func(b []byte) (*reply, int, error) {
			var p reply
			n, err := p.scan(b)
			if err == nil {
				p.head.raw = p.head.raw[:n]
				err = p.inspect(&r)
			}
			if err == nil && p.exact {
				err = newParsers().agreeReply(&p)
			}
			return &p, n, err
		}
		p, n, err := read(bytes.Clone(data))
		if err != nil {
			return
		}
		out := append(p.appendTo(nil), "\r\n"...)
		again, m, err := read(bytes.Clone(out))
		if err != nil || m != len(out) {
			t.Fatalf("%q was passed on as %q, which is read as %d bytes, %v", data[:n], out, m, err)
		}
		if again.status != p.status || again.framing != p.framing || again.length != p.length {
			t.Errorf("%q was passed on as %q, which says something else", data[:n], out)
		}
		q, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), &http.Request{Method: method})
		if err != nil || p.status < 200 || p.framing == noBody {
			return
		}
		if want := contentLength(p.framing, p.length); want == -2 && q.ContentLength != -1 || want != -2 && q.ContentLength != int64(want) {
			t.Errorf("%q: net/http reads a length of %d, want %d", out, q.ContentLength, want)
		}
	})
}

func FuzzChunks(f *testing.F) {
	for _, s := range []string{"3⏎abc⏎0⏎⏎", "a;x=\"y\"⏎0123456789⏎00⏎X: y⏎⏎", "1⏎a⏎", "0⏎⏎rest"} {
		f.Add([]byte(crlf(s)), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		if len(data) > fuzzed {
			return
		}
		var whole, parts chunks
		n, err := whole.take(data)
		if n > len(data) {
			t.Fatalf("took %d of %d bytes", n, len(data))
		}
		if at > 0 && at < len(data) {
			m, e := parts.take(data[:at])
			if e == nil {
				var k int
				k, e = parts.take(data[m:])
				m += k
			}
			if m != n || (e == nil) != (err == nil) || whole != parts && err == nil {
				t.Errorf("%q cut at %d: %d, %v, %+v; at once %d, %v, %+v", data, at, m, e, parts, n, err, whole)
			}
		}
		if err != nil || whole.state != ended {
			return
		}
		got, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(data[:n])))
		if want := dechunked(t, data[:n]); err == nil && string(got) != want {
			t.Errorf("%q: net/http reads %q, want %q", data[:n], got, want)
		}
	})
}

func dechunked(t *testing.T, p []byte) string {
	t.Helper()
	var c chunks
	var b strings.Builder
	for c.state != ended {
		frame, data, err := c.step(p)
		if err != nil || frame+data == 0 {
			t.Fatalf("%q: taken at once, not in steps: %v", p, err)
		}
		b.Write(p[frame : frame+data])
		p = p[frame+data:]
	}
	return b.String()
}

// FuzzFraming sends whatever may follow a request line to a relay, and a second request behind it:
// the origin hears one request, or two, or none, but never something that nobody sent.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{
		"Content-Length: 3⏎⏎abc", "Transfer-Encoding: chunked⏎⏎3⏎abc⏎0⏎⏎", "Content-Length: 3⏎Transfer-Encoding: chunked⏎⏎0⏎⏎",
		"Transfer-Encoding:\tchunked⏎⏎0⏎⏎", "X: y⏎⏎", "Content-Length: 0⏎⏎GET /smuggled HTTP/1.1⏎Host: h⏎⏎",
	} {
		f.Add([]byte(crlf(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > fuzzed {
			return
		}
		raw := append([]byte("POST /first HTTP/1.1\r\nHost: h\r\n"), data...)
		var r Request
		n, err := readRequest(&r, bytes.Clone(raw))
		if err != nil {
			return
		}
		var b body
		b.start(r.framing, r.length, 0)
		k, err := b.take(raw[n:])
		if err != nil || !b.done {
			return
		}
		x := Exchange{Req: r, to: sending{origin: NewOrigin("origin:80", OriginConfig{})}}
		out := append(x.appendRequest(nil), raw[n:n+k]...)
		in := bufio.NewReader(bytes.NewReader(out))
		q, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, q.Body); err != nil {
			return // it is stricter about the body
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Errorf("%q was sent on as %q: net/http leaves %q of it", raw, out, rest)
		}
	})
}
