package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"graylane/test/harness"
)

// ask sends a request and reads the answer of the app at its end.
// The answers of apps behind it are there also when a call between two of them failed, with an error.
func ask(client *http.Client, r *http.Request) (*hop, error) {
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	noteError(resp.Header)
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

// through is a client of a sidecar's app: every host is reached by way of its outbound listener.
func through(t testing.TB, s *harness.Sidecar, host string) caller {
	client := proxied(s.Outbound)
	t.Cleanup(client.CloseIdleConnections)
	return caller{t, "http://" + host, client}
}

// direct calls an address without a proxy, from a source address of choice: "127.0.0.2" is another peer.
func direct(t testing.TB, address, source string) caller {
	dialer := &net.Dialer{Timeout: harness.Patience}
	if source != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return caller{t, "http://" + address, &http.Client{Timeout: harness.Patience, Transport: transport}}
}

func base64Text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
