package pods

import (
	"os"
	"testing"

	"graylane/test/harness"
)

func TestMain(m *testing.M) {
	if args := appArgs(); len(args) > 0 {
		runApp(args)
	}
	os.Exit(harness.Main(m))
}
