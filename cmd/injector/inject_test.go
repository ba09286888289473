package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const pod = `# ours
apiVersion: v1
kind: Pod
metadata: {name: users}
spec:
  containers:
    - {name: app, image: "example.com/users:1"}
`

// run gives the exit code of a command line, and what it printed.
func run(t *testing.T, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	args = append([]string{}, args...) // cobra takes those of the test's own process in place of nil
	code = execute(t.Context(), args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestManifestsComeOutWithTheSidecar(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, []byte(pod), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, pod, "inject", "--image", "graylane/sidecar:v1", "--cpu-limit", "2", "-f", file, "-f", "-")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	for _, want := range []string{"# ours", "image: graylane/sidecar:v1", `cpu: "2"`, "\n---\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in what is printed:\n%s", want, out)
		}
	}
	for _, want := range []string{file + ":2: Pod users: sidecar added", "stdin:2: Pod users: sidecar added"} {
		if !strings.Contains(errOut, want) {
			t.Errorf("no %q in the notes: %s", want, errOut)
		}
	}
}

func TestFilesThatEndInTheMiddleOfALineStayApart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("kind: ConfigMap"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, "kind: Secret", "inject", "--image", "i", "-f", file, "-f", "-")
	if want := "kind: ConfigMap\n---\nkind: Secret"; code != 0 || out != want {
		t.Errorf("exit code %d, %s: got %q, want %q", code, errOut, out, want)
	}
}

func TestNothingIsPrintedWhenAPodIsRefused(t *testing.T) {
	bad := strings.Replace(pod, "{name: users}", "{name: users, annotations: {graylane.dev/edge: perhaps}}", 1)
	code, out, errOut := run(t, pod+"---\n"+bad, "inject", "--image", "i", "-f", "-")
	if code != exitFailed || out != "" {
		t.Errorf("exit code %d and output %q, want %d and none", code, out, exitFailed)
	}
	if want := `stdin:10: Pod users: metadata.annotations[graylane.dev/edge]: "perhaps", want true or false`; !strings.Contains(errOut, want) {
		t.Errorf("got %s, want %s", errOut, want)
	}
}

func TestUsageIsTold(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{nil, "want a command"},
		{[]string{"dance"}, `no command "dance"`},
		{[]string{"inject", "--image", "i"}, "filename: required"},
		{[]string{"inject", "-f", "-"}, "image: required"},
		{[]string{"inject", "-f", "-", "--image", "i", "--uid", "0", "--intercept", "magic"}, `intercept: "magic", want redirect or proxy-env`},
		{[]string{"inject", "-f", "-", "--image", "i", "--cpu-limit", "much"}, `cpu-limit: got "much"`},
		{[]string{"inject", "--what"}, "unknown flag: --what"},
		{[]string{"version", "now"}, `unknown command "now"`},
	}
	for _, tt := range tests {
		code, _, errOut := run(t, "", tt.args...)
		if code != exitUsage || !strings.Contains(errOut, tt.want) {
			t.Errorf("%v: exit code %d, %s; want %d and %q", tt.args, code, errOut, exitUsage, tt.want)
		}
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	code, _, errOut := run(t, "", "inject", "--image", "i", "-f", "/nowhere/pod.yaml")
	if code != exitFailed || !strings.Contains(errOut, "/nowhere/pod.yaml") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	if code, out, _ := run(t, "", "version"); code != 0 || !strings.HasPrefix(out, "graylane unknown go1.") {
		t.Errorf("exit code %d: %q", code, out)
	}
}
