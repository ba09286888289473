package clients

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	"graylane/test/harness"
)

// goClient is set where the test binary is to be the client that is written in Go.
const goClient = "GRAYLANE_CLIENTS_GO"

func TestMain(m *testing.M) {
	if os.Getenv(goClient) != "" {
		if err := get(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(harness.Main(m))
}

// get prints a page by the client that most programs in Go use.
func get(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
