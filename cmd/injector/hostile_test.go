package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"graylane/internal/inject"
)

func TestAFloodOfFaultsIsToldInShort(t *testing.T) {
	w := startWebhook(t)
	var annotations strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&annotations, `"graylane.dev/x%d": "y", `, i)
	}
	var ports strings.Builder
	for range 10_000 {
		ports.WriteString(`{"name": "c", "ports": [{"containerPort": 15001}]},`)
	}
	long := strings.Repeat("x", 1<<20)
	for name, pod := range map[string]string{
		"annotations": podOf("", annotations.String()+`"a": "b"`, ""),
		"ports":       podOf("", "", `"initContainers": [`+ports.String()+`{"name": "last"}],`),
		"a value":     podOf("", `"graylane.dev/log-level": "`+long+`"`, ""),
		"a name":      strings.Replace(podOf("", badEdge, ""), "users-", long, 1),
	} {
		answer := w.ask(pathMutate, "Pod", pod)
		if answer.Allowed || len(answer.Result.Message) > 2*maxText {
			t.Errorf("%s: allowed is %v, with %d bytes, want a refusal in short", name, answer.Allowed, len(answer.Result.Message))
		}
	}
}

func TestWhatIsNestedTooDeepIsRefused(t *testing.T) {
	w := startWebhook(t)
	deep := strings.Repeat(`{"a": `, 20_000) + "1" + strings.Repeat("}", 20_000)
	for name, body := range map[string]string{
		"the pod":    `{"apiVersion": "admission.k8s.io/v1", "request": {"kind": {"kind": "Pod"}, "operation": "CREATE", "object": ` + deep + `}}`,
		"the review": deep,
	} {
		if status, text := w.post(pathMutate, body); status != http.StatusBadRequest || !strings.Contains(text, "depth") {
			t.Errorf("%s: status %d, %.200s; want 400 and the reason", name, status, text)
		}
	}
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	w := startWebhook(t)
	transport := w.client.Transport.(*http.Transport)
	for _, tt := range []struct {
		version uint16
		want    bool
	}{
		{tls.VersionTLS10, false}, {tls.VersionTLS11, false}, {tls.VersionTLS12, true}, {tls.VersionTLS13, true},
	} {
		raw, err := transport.DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		conn := tls.Client(raw, &tls.Config{
			RootCAs: transport.TLSClientConfig.RootCAs, ServerName: host, MinVersion: tls.VersionTLS10, MaxVersion: tt.version,
		})
		if err := conn.Handshake(); (err == nil) != tt.want {
			t.Errorf("%s: got %v, want success: %v", tls.VersionName(tt.version), err, tt.want)
		}
		raw.Close()
	}
}

func TestReviewsWaitUntilThereIsRoomForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReviewer(inject.NewOptions("graylane/sidecar:test"), slog.New(slog.DiscardHandler))
		if err := r.room.Acquire(t.Context(), maxReview); err != nil {
			t.Fatal(err)
		}
		post := func() int {
			w := httptest.NewRecorder()
			r.routes().ServeHTTP(w, httptest.NewRequest(http.MethodPost, pathMutate, strings.NewReader("{}")))
			return w.Code
		}
		if got := post(); got != http.StatusServiceUnavailable {
			t.Errorf("no room: status %d, want 503", got)
		}
		time.AfterFunc(patience/2, func() { r.room.Release(maxReview) })
		if got := post(); got != http.StatusBadRequest {
			t.Errorf("room in time: status %d, want 400, for it is no review", got)
		}
	})
}

// pipes is a listener in memory, so that time can be a test's own.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestClientsThatAreSlowAreLeft(t *testing.T) {
	const head = "POST /mutate HTTP/1.1\r\nHost: a\r\n"
	for _, tt := range []struct {
		name   string
		say    string // over TLS; "": no TLS either
		within time.Duration
	}{
		{"before TLS", "", 10 * time.Second},
		{"in the head", head, 10 * time.Second},
		{"in the body", head + "Content-Length: 100\r\n\r\n{", bodyTime + time.Second}, // meanwhile others wait
		{"after a request", head + "Content-Length: 2\r\n\r\n{}", 2*time.Minute + time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := startInMemory(t)
				begin := time.Now()
				if tt.say != "" {
					client = speak(client, tt.say)
				}
				io.Copy(io.Discard, client) // until the server ends it
				if took := time.Since(begin); took > tt.within {
					t.Errorf("left after %v, want %v at most", took, tt.within)
				}
			})
		})
	}
}

// startInMemory starts the server, and gives one connection to it.
func startInMemory(t *testing.T) net.Conn {
	t.Helper()
	certificate := selfSigned(t)
	r := newReviewer(inject.NewOptions("graylane/sidecar:test"), slog.New(slog.DiscardHandler))
	l := make(pipes)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serveTLS(ctx, l, r, func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }, 0)
	}()
	client, server := net.Pipe()
	l <- server
	t.Cleanup(func() {
		client.Close()
		stop()
		close(l)
		<-ended
	})
	return client
}

// speak says a text over TLS.
func speak(c net.Conn, text string) net.Conn {
	secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	io.WriteString(secure, text)
	return secure
}

func selfSigned(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
