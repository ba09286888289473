package http2

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"graylane/internal/http1"
	"graylane/test/harness"
)

func TestBothWaysAtOnce(t *testing.T) {
	addr := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		flush(w)
		for lines := bufio.NewReader(r.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "got "+line)
			flush(w)
		}
	})
	up, down := io.Pipe()
	req := request(t, http.MethodPost, "http://"+addr+"/", up)
	resp, err := client(t).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for i := range 100 {
		fmt.Fprintf(down, "%d\n", i)
		if got, err := lines.ReadString('\n'); err != nil || got != fmt.Sprintf("got %d\n", i) {
			t.Fatalf("got %q, %v after line %d", got, err, i)
		}
	}
	down.Close()
	if got, err := io.ReadAll(lines); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v at the end, want nothing", got, err)
	}
}

func TestAHeadIsNotHeldBackForItsBody(t *testing.T) {
	end := make(chan struct{})
	addr := relayed(t, func(w http.ResponseWriter, _ *http.Request) {
		flush(w)
		<-end
	})
	resp, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	close(end)
	resp.Body.Close()
}

func TestAReplyBeforeTheEndOfTheRequest(t *testing.T) {
	var failed atomic.Value
	addr := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "enough")
		go func() {
			_, err := io.Copy(io.Discard, r.Body)
			failed.Store(fmt.Sprint(err))
		}()
	})
	up, down := io.Pipe()
	defer down.Close()
	_, body := do(t, request(t, http.MethodPost, "http://"+addr+"/", up))
	if body != "enough" {
		t.Errorf("got %q, want enough", body)
	}
	harness.WaitFor(t, "the end of the request's body", func() bool { return failed.Load() != nil })
}

// A caller that does not read stops the origin, whatever it has to say.
func TestWhoDoesNotReadStopsWhoWrites(t *testing.T) {
	var written atomic.Int64
	addr := relayed(t, func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 16<<10); ; written.Add(int64(len(chunk))) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	resp, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	settled(t, &written)
	// The client's window is 4 MiB, and each side here has its own.
	if got := written.Load(); got > 6<<20 {
		t.Errorf("the origin wrote %d bytes to a caller that reads none", got)
	}
}

func TestAnOriginThatDoesNotReadStopsTheCallerAndNobodyElse(t *testing.T) {
	stuck := make(chan struct{})
	addr := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stuck" {
			flush(w)
			<-stuck
		}
	})
	c := client(t)
	var written atomic.Int64
	for range 40 { // more than what a connection's window of 1 MiB would hold, were it shared
		resp, err := c.RoundTrip(request(t, http.MethodPost, "http://"+addr+"/stuck", endless{&written}))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	settled(t, &written)
	if got := written.Load() / 40; got > 2<<20 {
		t.Errorf("each caller sent %d bytes to an origin that reads none", got)
	}
	resp, err := c.RoundTrip(request(t, http.MethodPost, "http://"+addr+"/", io.LimitReader(endless{&written}, 100<<10)))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("beside the stuck ones: got %v, %v", resp, err)
	}
	resp.Body.Close()
	close(stuck)
}

func TestACallerThatLeavesIsMissed(t *testing.T) {
	came, left := make(chan struct{}, 1), make(chan struct{}, 1)
	addr := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			flush(w)
		}
		came <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	})
	for _, path := range []string{"/", "/begun"} {
		ctx, cancel := contextOf(t)
		req := request(t, http.MethodPost, "http://"+addr+path, endless{new(atomic.Int64)}).WithContext(ctx)
		go func() { <-came; cancel() }()
		if resp, err := client(t).RoundTrip(req); err == nil {
			<-ctx.Done()
			resp.Body.Close()
		}
		select {
		case <-left:
		case <-time.After(patience):
			t.Fatalf("%s: the origin did not hear that the caller has left", path)
		}
	}
}

func TestManyStreamsShareAConnection(t *testing.T) {
	var conns, busy atomic.Int64
	all := make(chan struct{})
	s := origin(t, func(http.ResponseWriter, *http.Request) {
		if busy.Add(1) == 100 {
			close(all)
		}
		<-all
	})
	counted := counting(s.Listener, &conns)
	o := NewOrigin(addrOf(s), http1.OriginConfig{Dial: counted})
	_, addr := serve(t, http1.Config{}, passing(o))
	c := client(t)
	done := make(chan error)
	for range 100 {
		go func() {
			resp, err := c.RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
			if err == nil {
				err = resp.Body.Close()
			}
			done <- err
		}()
	}
	for range 100 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := conns.Load(); got != 1 {
		t.Errorf("100 requests at once took %d connections, want 1", got)
	}
}

func TestAnOriginThatTakesFewStreamsGetsMoreConnections(t *testing.T) {
	const requests, each = 9, 2
	var conns, busy atomic.Int64
	all := make(chan struct{})
	s := origin(t, func(http.ResponseWriter, *http.Request) {
		if busy.Add(1) == requests {
			close(all)
		}
		<-all
	}, func(s *http.Server) { s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: each} })
	o := NewOrigin(addrOf(s), http1.OriginConfig{Dial: counting(s.Listener, &conns)})
	_, addr := serve(t, http1.Config{}, passing(o))
	c := client(t)
	done := make(chan error)
	for range requests {
		go func() {
			resp, err := c.RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
			if err == nil {
				err = resp.Body.Close()
			}
			done <- err
		}()
	}
	for range requests {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := busy.Load(); got != requests {
		t.Errorf("the origin got %d requests, want each of %d once", got, requests)
	}
	if got, want := conns.Load(), int64((requests+each-1)/each); got != want {
		t.Errorf("%d requests at once, %d a connection, took %d connections, want %d", requests, each, got, want)
	}
}

// endless is a body that counts what was taken of it.
type endless struct{ taken *atomic.Int64 }

func (e endless) Read(p []byte) (int, error) {
	e.taken.Add(int64(len(p)))
	return len(p), nil
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// settled waits until n has stopped growing.
func settled(t *testing.T, n *atomic.Int64) {
	t.Helper()
	last, since := int64(-1), time.Now()
	harness.WaitFor(t, "an end of the flow", func() bool {
		if now := n.Load(); now != last {
			last, since = now, time.Now()
		}
		return last > 0 && time.Since(since) > 200*time.Millisecond
	})
}
