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
)

// demoPorts is how many ports in a row a demo uses.
const demoPorts = 70

// buildDemo gives the path of the demo, built once.
var buildDemo = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "demo")
	cmd := exec.Command("go", "build", "-o", out, "./demo")
	cmd.Dir, cmd.Stderr = repository, os.Stderr
	return out, cmd.Run()
})

// startDemo runs the demo at free ports, with a folder of its own.
func startDemo(t testing.TB, flags ...string) (p *process, portBase int, dir string) {
	t.Helper()
	path, err := buildDemo()
	must(t, err)
	portBase, dir = freePorts(t, demoPorts), t.TempDir()
	args := append([]string{"--port-base", strconv.Itoa(portBase), "--dir", dir}, flags...)
	// The demo is run from inside the checkout, as its users do.
	return startIn(t, repository, "demo", nil, path, args...), portBase, dir
}

func TestDemoShowsWhatItPromisesAndEnds(t *testing.T) {
	p, portBase, _ := startDemo(t, "--once")
	if code := p.exitWithin(t, demoPatience); code != 0 {
		t.Fatalf("exit code is %d, want 0", code)
	}
	shown := p.log.String()
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
	must(t, err)
	portBase := freePorts(t, demoPorts)
	for _, port := range []int{portBase + 1, portBase + 26} {
		l, err := net.Listen("tcp", local(port))
		must(t, err)
		defer l.Close()
	}
	p := start(t, "demo", nil, path, "--port-base", strconv.Itoa(portBase), "--dir", filepath.Join(t.TempDir(), "not-made"))
	if code := p.exit(t); code != 1 {
		t.Errorf("exit code is %d, want 1", code)
	}
	for _, want := range []string{local(portBase + 1), "outbound of entry", local(portBase + 26), "inbound of front-gray"} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("the demo does not name %q", want)
		}
	}
	if strings.Contains(p.log.String(), "building") {
		t.Error("the demo began to build")
	}
}

// checkNothingListens wants all ports of a demo that has ended to be free.
func checkNothingListens(t *testing.T, portBase int) {
	t.Helper()
	waitFor(t, "no process of the demo listens", func() bool { return allFree(portBase, demoPorts) })
}
