package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"graylane/test/harness"
)

// demoPorts is how many ports in a row a demo uses.
const demoPorts = 70

// demoPatience is patience for a demo, which builds a sidecar first.
const demoPatience = 3 * time.Minute

// buildDemo gives the path of the demo, built once.
var buildDemo = sync.OnceValues(func() (string, error) {
	out := harness.Scratch("demo")
	cmd := exec.Command("go", "build", "-o", out, "./demo")
	cmd.Dir, cmd.Stderr = harness.Repository, os.Stderr
	return out, cmd.Run()
})

// startDemo runs the demo at free ports, with a folder of its own.
func startDemo(t testing.TB, flags ...string) (p *harness.Process, portBase int, dir string) {
	t.Helper()
	path, err := buildDemo()
	harness.Must(t, err)
	portBase, dir = harness.FreePorts(t, demoPorts), t.TempDir()
	args := append([]string{"--port-base", strconv.Itoa(portBase), "--dir", dir}, flags...)
	// The demo is run from inside the checkout, as its users do.
	return harness.StartIn(t, harness.Repository, "demo", nil, path, args...), portBase, dir
}

func TestDemoShowsWhatItPromisesAndEnds(t *testing.T) {
	p, portBase, _ := startDemo(t, "--once")
	if code := p.ExitWithin(t, demoPatience); code != 0 {
		t.Fatalf("exit code is %d, want 0", code)
	}
	shown := p.Log.String()
	for _, want := range []string{
		`
  user        1    2    3    4    5    6    7    8    9   10   11   12
  front    gray gray gray base base base base base base base base base
  orders   gray gray gray base base base base base base base base base
  users    gray gray gray base base base base base base base base base
`, `
  front    gray gray gray base base base base base base gray gray gray
  orders   gray gray gray base base base base base base gray gray gray
  users    base base base base base base base base base base base base
`,
		"policy.yaml:2:", // the place of the typing error
		" requests came meanwhile, 0 failed.",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the demo does not show %q", want)
		}
	}
	checkNothingListens(t, portBase)
}

func TestDemoStartsNothingWhereAPortIsTaken(t *testing.T) {
	path, err := buildDemo()
	harness.Must(t, err)
	portBase := harness.FreePorts(t, demoPorts)
	for _, port := range []int{portBase + 1, portBase + 26} {
		l, err := net.Listen("tcp", harness.Local(port))
		harness.Must(t, err)
		defer l.Close()
	}
	p := harness.Start(t, "demo", nil, path, "--port-base", strconv.Itoa(portBase), "--dir", filepath.Join(t.TempDir(), "not-made"))
	if code := p.Exit(t); code != 1 {
		t.Errorf("exit code is %d, want 1", code)
	}
	for _, want := range []string{harness.Local(portBase + 1), "outbound of entry", harness.Local(portBase + 26), "inbound of front-gray"} {
		if !strings.Contains(p.Log.String(), want) {
			t.Errorf("the demo does not name %q", want)
		}
	}
	if strings.Contains(p.Log.String(), "building") {
		t.Error("the demo began to build")
	}
}

// checkNothingListens wants all ports of a demo that has ended to be free.
func checkNothingListens(t *testing.T, portBase int) {
	t.Helper()
	harness.WaitFor(t, "no process of the demo listens", func() bool { return harness.AllFree(portBase, demoPorts) })
}
