package dns

import (
	"os"
	"testing"

	"graylane/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
