package harness

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
)

// PolicyFile is the path of a policy that tests change.
type PolicyFile string

// Write replaces the file as an editor does: a new file beside it, renamed over it.
func (f PolicyFile) Write(t testing.TB, text string) {
	t.Helper()
	beside := string(f) + "~"
	WriteFile(t, beside, text)
	Must(t, os.Rename(beside, string(f)))
}

// WriteFile writes a file that only the tests may read.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	Must(t, os.WriteFile(path, []byte(text), 0o600))
}

// Digest is how sidecars name a policy: the first 12 hex digits of its SHA-256.
func Digest(text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12]
}
