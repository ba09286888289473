package http2

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// await gives the next frame of a stream, 0 for those of the connection, that is one
// of these.
func (r *raw) await(t testing.TB, stream uint32, kinds ...http2.FrameType) http2.Frame {
	t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(patience))
	for {
		frame, err := r.ReadFrame()
		if err != nil {
			t.Errorf("got %v, want a frame of %v on stream %d", err, kinds, stream)
			return nil
		}
		if ping, ok := frame.(*http2.PingFrame); ok && !ping.IsAck() {
			_ = r.WritePing(true, ping.Data)
		}
		for _, kind := range kinds {
			if h := frame.Header(); h.StreamID == stream && h.Type == kind {
				return frame
			}
		}
	}
}

// acting is the address of a Server before an origin that acts on its first request.
func acting(t *testing.T, act func(r *raw)) string {
	t.Helper()
	acted := make(chan struct{})
	_, addr := serve(t, http1.Config{}, passing(NewOrigin(rawServer(t, func(r *raw, _ int) {
		defer close(acted)
		r.settle()
		act(r)
	}), http1.OriginConfig{})))
	t.Cleanup(func() {
		select {
		case <-acted:
		case <-time.After(patience):
			t.Error("the origin waits for something still")
		}
	})
	return addr
}

func grpcHead(fields ...string) []string {
	return head(append([]string{":method", "POST", "content-type", "application/grpc", "te", "trailers"}, fields...)...)
}

// Who calls has lost interest: so the origin is told, whether or not all of the
// request is there, or a part of the reply.
func TestACallersResetIsPassedOn(t *testing.T) {
	for _, c := range []struct {
		name         string
		whole, begun bool
	}{
		{"in the middle of the request", false, false},
		{"before the reply", true, false},
		{"in the middle of the reply", true, true},
		{"in the middle of both", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := make(chan struct{})
			addr := acting(t, func(r *raw) {
				r.await(t, 1, http2.FrameHeaders)
				if c.begun {
					r.heads(1, false, ":status", "200", "content-type", "application/grpc")
				}
				close(asked)
				if f, ok := r.await(t, 1, http2.FrameRSTStream).(*http2.RSTStreamFrame); ok && f.ErrCode != http2.ErrCodeCancel {
					t.Errorf("the origin got %v, want CANCEL", f.ErrCode)
				}
			})
			r := rawCaller(t, addr)
			r.heads(1, false, grpcHead()...)
			_ = r.WriteData(1, c.whole, []byte("\x00\x00\x00\x00\x01x"))
			<-asked
			if c.begun {
				r.await(t, 1, http2.FrameHeaders)
			}
			_ = r.WriteRSTStream(1, http2.ErrCodeCancel)
		})
	}
}

func TestADeadlineIsPassedOnAndEndsTheCallAtTheOrigin(t *testing.T) {
	addr := acting(t, func(r *raw) {
		m, ok := r.await(t, 1, http2.FrameHeaders).(*http2.MetaHeadersFrame)
		if !ok {
			return
		}
		for _, f := range m.RegularFields() {
			if f.Name == "grpc-timeout" && f.Value == "3S" {
				r.await(t, 1, http2.FrameRSTStream)
				return
			}
		}
		t.Errorf("the origin got %v, want the grpc-timeout", m.Fields)
	})
	r := rawCaller(t, addr)
	r.heads(1, false, grpcHead("grpc-timeout", "3S")...) // and no body yet
	m, ok := r.await(t, 1, http2.FrameHeaders).(*http2.MetaHeadersFrame)
	if !ok {
		return
	}
	fields := map[string]string{}
	for _, f := range m.Fields {
		fields[f.Name] = f.Value
	}
	if fields[":status"] != "200" || fields["grpc-status"] != "4" || !m.StreamEnded() {
		t.Errorf("got %v, ended %v, want DEADLINE_EXCEEDED in one frame", fields, m.StreamEnded())
	}
}

func TestTheCallersWindowIsKept(t *testing.T) {
	const size = 100_000
	addr := relayed(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("b", size)) })
	r := rawCaller(t, addr, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	r.heads(1, true, head()...)
	got := 0
	take := func(most int) {
		for got < most {
			f, ok := r.await(t, 1, http2.FrameData).(*http2.DataFrame)
			if !ok {
				return
			}
			if got += len(f.Data()); got > most {
				t.Fatalf("got %d bytes, want %d or fewer", got, most)
			}
		}
	}
	take(10)
	_ = r.WritePing(false, [8]byte{1}) // what is on its way comes before the answer
	if f := r.await(t, 0, http2.FramePing); f == nil {
		return
	}
	_ = r.WriteWindowUpdate(1, 5)
	take(15)
	_ = r.WriteWindowUpdate(1, size)
	_ = r.WriteWindowUpdate(0, size)
	take(size)
}

// An origin may have said all before it has heard all (RFC 9113, section 8.1).
func TestAReplyIsWholeAlthoughTheOriginWantsNoMoreOfTheRequest(t *testing.T) {
	addr := acting(t, func(r *raw) {
		r.await(t, 1, http2.FrameHeaders)
		r.heads(1, false, ":status", "200")
		_ = r.WriteData(1, true, []byte("enough"))
		_ = r.WriteRSTStream(1, http2.ErrCodeNo)
	})
	r := rawCaller(t, addr)
	r.heads(1, false, head(":method", "POST")...)
	_ = r.WriteData(1, false, []byte("a part"))
	r.await(t, 1, http2.FrameHeaders)
	body := ""
	for ended := false; !ended; {
		f, ok := r.await(t, 1, http2.FrameData, http2.FrameRSTStream).(*http2.DataFrame)
		if !ok {
			t.Fatalf("got a reset after %q", body)
		}
		body, ended = body+string(f.Data()), f.StreamEnded()
	}
	if body != "enough" {
		t.Errorf("got %q, want enough", body)
	}
	if f, ok := r.await(t, 1, http2.FrameRSTStream).(*http2.RSTStreamFrame); ok && f.ErrCode != http2.ErrCodeNo {
		t.Errorf("the caller is stopped with %v, want NO_ERROR", f.ErrCode)
	}
}

func TestAReplyOfTrailersOnlyIsOneFrame(t *testing.T) {
	addr := acting(t, func(r *raw) {
		r.await(t, 1, http2.FrameHeaders)
		r.heads(1, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "5", "grpc-message", "none")
	})
	r := rawCaller(t, addr)
	r.heads(1, true, grpcHead()...)
	if m, ok := r.await(t, 1, http2.FrameHeaders).(*http2.MetaHeadersFrame); ok && (!m.StreamEnded() || len(m.Fields) != 4) {
		t.Errorf("got %v, ended %v, want the four fields in one frame", m.Fields, m.StreamEnded())
	}
}

func TestWhoExpectsToContinueIsTold(t *testing.T) {
	addr := relayed(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	r := rawCaller(t, addr)
	r.heads(1, false, head(":method", "POST", "expect", "100-continue", "content-length", "4")...)
	for _, want := range []string{"100", "200"} {
		m, ok := r.await(t, 1, http2.FrameHeaders).(*http2.MetaHeadersFrame)
		if !ok {
			return
		}
		if got := m.PseudoValue("status"); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if want == "100" {
			_ = r.WriteData(1, true, []byte("body"))
		}
	}
	if f, ok := r.await(t, 1, http2.FrameData).(*http2.DataFrame); ok && string(f.Data()) != "body" {
		t.Errorf("got %q, want body", f.Data())
	}
}

func TestAStreamUnderWayOutlivesADrain(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	s, addr := serve(t, http1.Config{CloseOnDrain: true}, handlerFunc(func(x *Exchange) {
		close(begun)
		<-end
		answering(x)
	}))
	r := rawCaller(t, addr)
	r.heads(1, true, head()...)
	<-begun
	s.Drain()
	if f, ok := r.await(t, 0, http2.FrameGoAway).(*http2.GoAwayFrame); ok && (f.LastStreamID < 1 || f.ErrCode != http2.ErrCodeNo) {
		t.Errorf("got GOAWAY of %d with %v, want the stream kept and NO_ERROR", f.LastStreamID, f.ErrCode)
	}
	close(end)
	if got := r.outcome(t, 1); got != "200" {
		t.Errorf("got %s, want 200", got)
	}
	harness.WaitFor(t, "no connection", func() bool { return s.Conns() == 0 })
}

func TestTrailersOfHTTP1GoOnAsHTTP2(t *testing.T) {
	got := make(chan http.Header, 1)
	addr, _ := bridged(t, addrOf(origin(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Trailer
	})), http1.OriginConfig{})
	resp := say(t, addr, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n4\r\nbody\r\n0\r\nX-T: 1\r\n\r\n")
	resp.Body.Close()
	if trailer := <-got; resp.StatusCode != 200 || trailer.Get("X-T") != "1" {
		t.Errorf("got %d, and the origin got trailers %v", resp.StatusCode, trailer)
	}
}
