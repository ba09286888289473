package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func (h *httpContest) prove(c contestant) error {
	if c.command == nil {
		return nil
	}
	p, err := start(proxyCore, c.address, filepath.Join(h.dir, "proxy.log"), c.command)
	if err != nil {
		return err
	}
	defer p.stop()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	made := map[string]bool{}
	for _, tag := range []string{"gray", "base", ""} {
		for _, parent := range []string{exampleParent, "", ""} {
			heard, from, err := heard(client, c.address, tag, parent)
			if err != nil {
				return err
			}
			want := tag
			if want == "" {
				want = "base"
			}
			got := heard.Header.Get("traceparent")
			switch {
			case from != want:
				return fmt.Errorf("X-Gray %q is served by %q", tag, from)
			case !slices.Equal(heard.Header.Values("X-Gray"), []string{want}):
				return fmt.Errorf("X-Gray %q arrives as %q", tag, heard.Header.Values("X-Gray"))
			case heard.Host != hostName:
				return fmt.Errorf("the host arrives as %q", heard.Host)
			case parent != "" && got != parent || !regexp.MustCompile("^00-[0-9a-f]{32}-[0-9a-f]{16}-01$").MatchString(got):
				return fmt.Errorf("traceparent %q arrives as %q", parent, got)
			}
			made[got] = true
		}
	}
	if len(made) != 7 { // one was given, six were to be made
		return fmt.Errorf("%d traceparents were made, want 6 that differ", len(made)-1)
	}
	return nil
}

// heard is a request as an origin got it, and which one that was.
func heard(client *http.Client, address, tag, parent string) (*http.Request, string, error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+address+"/heard", nil)
	if err != nil {
		return nil, "", err
	}
	r.Host = hostName
	if tag != "" {
		r.Header.Set("X-Gray", tag)
	}
	if parent != "" {
		r.Header.Set("traceparent", parent)
	}
	var resp *http.Response
	for range 100 { // a sidecar answers 503 until its policy is in force
		if resp, err = client.Do(r); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			break
		}
		_ = resp.Body.Close()
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("%s: %s (%w)", resp.Status, strings.TrimSpace(string(body)), err)
	}
	at, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(body)))
	return at, resp.Header.Get(servedBy), err
}
