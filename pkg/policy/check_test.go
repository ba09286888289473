package policy

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each file in testdata/warn is a policy that works and is odd. It says how, as
// comments that start with "# want: ", in order and without the file's name.
func TestOddPoliciesAreWarnedOf(t *testing.T) {
	for _, path := range glob(t, "testdata/warn/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var want, got []string
			for line := range strings.Lines(read(t, path)) {
				if message, ok := strings.CutPrefix(strings.TrimSpace(line), "# want: "); ok {
					want = append(want, message)
				}
			}
			faults, warnings := Check(path, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			for _, w := range warnings {
				got = append(got, strings.TrimPrefix(w.Error(), path+":"))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckSaysWhatLoadSays(t *testing.T) {
	for _, path := range append(glob(t, "testdata/bad/*.yaml"), glob(t, "testdata/good/*.yaml")...) {
		_, err := Load(path)
		faults, _ := Check(path, time.Now())
		if (err == nil) != (len(faults) == 0) || err != nil && err.Error() != faults.Error() {
			t.Errorf("%s: check says %v, load says %v", path, faults, err)
		}
	}
}

func TestCheckOfAFileThatIsNotThere(t *testing.T) {
	faults, warnings := Check("testdata/missing.yaml", time.Now())
	if got, want := faults.Error(), "testdata/missing.yaml: no such file or directory"; got != want || warnings != nil {
		t.Errorf("faults %q, warnings %v, want %q and none", got, warnings, want)
	}
}
