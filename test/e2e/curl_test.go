package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"graylane/test/harness"
)

// pathWithCurl is a PATH on which curl is found: the machine's, or this binary under that name.
func pathWithCurl(t testing.TB) string {
	t.Helper()
	path := os.Getenv("PATH")
	if _, err := exec.LookPath("curl"); err == nil {
		return path
	}
	self, err := os.Executable()
	harness.Must(t, err)
	dir := t.TempDir()
	harness.Must(t, os.Symlink(self, filepath.Join(dir, "curl")))
	return dir + string(os.PathListSeparator) + path
}

// calledAsCurl says whether this process was started under the name that pathWithCurl gave it.
func calledAsCurl() bool { return filepath.Base(os.Args[0]) == "curl" }

// runCurl does what README asks of curl: -s, -x PROXY, -X METHOD, -H HEADER and one URL.
func runCurl(args []string, out io.Writer) error {
	var proxy *url.URL
	r, err := http.NewRequest(http.MethodGet, "", nil)
	if err != nil {
		return err
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "-s":
			continue
		case (arg == "-x" || arg == "-X" || arg == "-H") && len(args) > 0:
			value := args[0]
			args = args[1:]
			switch arg {
			case "-H":
				setHeader(r, value)
			case "-X":
				r.Method = value
			case "-x":
				if proxy, err = url.Parse(value); err != nil {
					return err
				}
			}
		case strings.HasPrefix(arg, "http://"):
			if r.URL, err = url.Parse(arg); err != nil {
				return err
			}
		default:
			return fmt.Errorf("curl: %q is not known here", arg)
		}
	}
	resp, err := (&http.Transport{Proxy: http.ProxyURL(proxy)}).RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(out, resp.Body)
	return err
}

func setHeader(r *http.Request, line string) {
	name, value, _ := strings.Cut(line, ": ")
	if name == "Host" {
		r.Host = value
		return
	}
	r.Header.Set(name, value)
}
