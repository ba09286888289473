package http2

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// logged is a log that may be written to and read at the same time.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestLogsOnceWhatIsWrongWithReplies(t *testing.T) {
	for _, c := range []struct {
		name, origin string
		why          string
	}{
		{"no status", answeringRaw(t, "content-type", "text/plain"), "missing status"},
		{"a name in upper case", answeringRaw(t, ":status", "200", "X-Upper", "1"), "X-Upper"},
		{"a value with a line end", answeringRaw(t, ":status", "200", "x", "a\r\nb: c"), "invalid header field value"},
		{"a pseudo field twice", answeringRaw(t, ":status", "200", ":status", "201"), "duplicate pseudo-header"},
		{"a body before the head", rawOrigin(t, func(r *raw, stream uint32, _ int) { _ = r.WriteData(stream, true, []byte("x")) }), "PROTOCOL_ERROR"},
		{"a frame too large", rawOrigin(t, func(r *raw, stream uint32, _ int) {
			_ = r.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 5))
		}), "connection error"},
		{"HTTP/1", plainOrigin(t), "does not speak HTTP/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &logged{}
			addr, errs := sending(t, c.origin, http1.OriginConfig{Log: slog.New(slog.NewTextHandler(log, nil))})
			for range 3 {
				resp, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body) // where the head was fine, it breaks off
				resp.Body.Close()
				wantReason(t, <-errs, http1.BadReply)
			}
			harness.WaitFor(t, "a line of log", func() bool { return strings.Contains(log.String(), "\n") })
			got := log.String()
			if strings.Count(got, "\n") != 1 || !strings.Contains(got, c.origin) || !strings.Contains(got, c.why) {
				t.Errorf("logged %q, want one line that names %s and %q", got, c.origin, c.why)
			}
		})
	}
}

// answeringRaw is an origin that replies with a head of these fields.
func answeringRaw(t testing.TB, fields ...string) string {
	t.Helper()
	return rawOrigin(t, func(r *raw, stream uint32, _ int) { r.heads(stream, true, fields...) })
}
