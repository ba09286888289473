package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// ask sends a request and reads the answer of the app at its end.
// The answers of apps behind it are there also when a call between two of them failed, with an error.
func ask(client *http.Client, r *http.Request) (*hop, error) {
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: status %d, then: %w", r.Method, r.URL, resp.StatusCode, err)
	}
	var answer hop
	if jsonErr := json.Unmarshal(body, &answer); jsonErr != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: status %d: %s", r.Method, r.URL, resp.StatusCode, body)
	}
	return &answer, nil
}

// path is who served a request at each hop: "front-gray orders-base users-gray".
func (h *hop) path() string {
	var names []string
	for ; h != nil; h = h.Next {
		names = append(names, h.Service+"-"+h.Tag)
	}
	return strings.Join(names, " ")
}

// at is the hop of a service, nil where the chain did not come there.
func (h *hop) at(service string) *hop {
	for ; h != nil; h = h.Next {
		if h.Service == service {
			return h
		}
	}
	return nil
}

// caller sends requests to one address, as any HTTP client does.
type caller struct {
	t      testing.TB
	base   string // "http://front"
	client *http.Client
}

// send makes one request; headers alternate between names and values.
func (c caller) send(query string, headers ...string) (*hop, error) {
	r, err := http.NewRequest(http.MethodGet, c.base+"/?"+query, nil)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return ask(c.client, r)
}

// get is send for what must not fail.
func (c caller) get(query string, headers ...string) *hop {
	c.t.Helper()
	answer, err := c.send(query, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// direct calls an address without a proxy, from a source address of choice: "127.0.0.2" is another peer.
func direct(t testing.TB, address, source string) caller {
	dialer := &net.Dialer{Timeout: patience}
	if source != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return caller{t, "http://" + address, &http.Client{Timeout: patience, Transport: transport}}
}

// text fetches a page of an app or of a sidecar; an address that nobody answers at gives status 0.
func text(url string) (status int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	r.Close = true // the process behind it may be gone at the next look
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

// workers is how many requests are under way at once where many are sent.
const workers = 8

// inParallel calls do for 0 to n-1 from all workers and reports how often it failed, with the first few errors.
func inParallel(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	begin := time.Now()
	jobs := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				if err := do(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	t.Logf("%d requests in %v", n, time.Since(begin).Round(time.Millisecond))
	if len(errs) > 0 {
		t.Errorf("%d of %d requests are wrong, the first: %v", len(errs), n, errs[:min(3, len(errs))])
	}
}

func base64Text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
