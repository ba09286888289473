package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
)

// policyFile is the path of a policy that tests change.
type policyFile string

// write replaces the file as an editor does: a new file beside it, renamed over it.
func (f policyFile) write(t testing.TB, text string) {
	t.Helper()
	beside := string(f) + "~"
	writeFile(t, beside, text)
	must(t, os.Rename(beside, string(f)))
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// digest is how sidecars name a policy: the first 12 hex digits of its SHA-256.
func digest(text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12]
}
