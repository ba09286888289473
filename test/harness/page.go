package harness

import (
	"context"
	"io"
	"net/http"
)

// Page fetches a page of an app or of a sidecar; an address that nobody answers at gives status 0.
func Page(url string) (status int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
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
