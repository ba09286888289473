package e2e

import (
	"fmt"
	"os"
	"testing"

	"graylane/test/harness"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(appEnv); spec != "" {
		fmt.Fprintln(os.Stderr, runApp(spec))
		os.Exit(1)
	}
	if calledAsCurl() {
		if err := runCurl(os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := harness.Main(m)
	if unknown, err := undocumentedErrors(); err != nil || len(unknown) > 0 {
		fmt.Fprintf(os.Stderr, "%s of this run that docs/metrics.md does not list: %q, %v\n", errorHeader, unknown, err)
		code = 1
	}
	os.Exit(code)
}
