package inject

import (
	"bytes"
	"os"
	"testing"
)

// FuzzManifest wants no file to end the process, and the second time to read what came out and to change nothing.
func FuzzManifest(f *testing.F) {
	for _, folder := range []string{"pods", "manifests"} {
		for _, file := range inputs(f, folder) {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, _, err := Manifest("file", text, NewOptions(image))
		if err != nil {
			return
		}
		twice, _, err := Manifest("file", once, NewOptions(image))
		if err != nil {
			t.Fatalf("%v the second time, in\n%s", err, once)
		}
		if !bytes.Equal(twice, once) {
			t.Fatalf("the second time:\n%s\nthe first:\n%s", twice, once)
		}
	})
}
