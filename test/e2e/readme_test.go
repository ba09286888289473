package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"graylane/pkg/policy"
	"graylane/test/harness"
)

func readme(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Repository, "README.md"))
	harness.Must(t, err)
	return string(text)
}

// blocks gives the code blocks of one language.
func blocks(text, language string) []string {
	var found []string
	for _, part := range strings.Split(text, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		found = append(found, block)
	}
	return found
}

func TestPoliciesOfReadmeAreGood(t *testing.T) {
	policies := blocks(readme(t), "yaml")
	if len(policies) == 0 {
		t.Fatal("README has no policy")
	}
	for _, text := range policies {
		if _, err := policy.Parse("README.md", []byte(text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

func TestCommandsOfReadmeAreThoseOfCI(t *testing.T) {
	const tests = "go test -count=1 ./..."
	if !strings.Contains(readme(t), "    "+tests) {
		t.Errorf("README does not give the command %q", tests)
	}
	script, err := os.ReadFile(filepath.Join(harness.Repository, ".ci", "run"))
	harness.Must(t, err)
	if !strings.Contains(string(script), " "+tests+"\n") {
		t.Errorf(".ci/run does not run the command %q", tests)
	}
}

func TestFlagsOfReadmeExist(t *testing.T) {
	help, err := exec.Command(harness.Binary(t), "run", "--help").CombinedOutput()
	harness.Must(t, err)
	for line := range strings.Lines(readme(t)) {
		if !strings.Contains(line, "sidecar run") {
			continue
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(line, -1) {
			if flag != "--help" && !strings.Contains(string(help), flag+" ") {
				t.Errorf("README uses %s, which `sidecar run --help` does not list", flag)
			}
		}
	}
}

func TestFlagsOfChangelogExist(t *testing.T) {
	var help []byte
	for _, command := range []string{"run", "check", "explain", "diff", "redirect", "drain"} {
		text, err := exec.Command(harness.Binary(t), command, "--help").CombinedOutput()
		harness.Must(t, err)
		help = append(help, text...)
	}
	text, err := os.ReadFile(filepath.Join(harness.Repository, "CHANGELOG.md"))
	harness.Must(t, err)
	for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(string(text), -1) {
		if flag != "--help" && !regexp.MustCompile(`(?m)^ .*`+flag+`[ \[]`).Match(help) {
			t.Errorf("CHANGELOG names %s, which the help of no command lists", flag)
		}
	}
}

// TestFoldersOfContributingAreThoseOfTests keeps the table of suites whole.
func TestFoldersOfContributingAreThoseOfTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(harness.Repository, "CONTRIBUTING.md"))
	harness.Must(t, err)
	folders, err := os.ReadDir(filepath.Join(harness.Repository, "test"))
	harness.Must(t, err)
	for _, folder := range folders {
		if name := "`test/" + folder.Name() + "`"; folder.IsDir() && !strings.Contains(string(page), name) {
			t.Errorf("CONTRIBUTING does not say what %s is for", name)
		}
	}
}

// TestRunOfReadmeServes runs the command that README gives for a pod, at other ports.
func TestRunOfReadmeServes(t *testing.T) {
	_, args, found := strings.Cut(readme(t), "\n    ./sidecar run ")
	args, _, _ = strings.Cut(args, "\n")
	if !found {
		t.Fatal("README has no line with ./sidecar run")
	}
	policy := harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml"))
	policy.Write(t, blocks(readme(t), "yaml")[0])
	flags := strings.Fields(strings.ReplaceAll(args, "policy.yaml", string(policy)))
	harness.StartSidecar(t, "sidecar", string(policy), flags...).WaitReady(t)
}

func TestPortsOfReadmeAreTheDefaults(t *testing.T) {
	help, err := exec.Command(harness.Binary(t), "run", "--help").CombinedOutput()
	harness.Must(t, err)
	for flag, port := range map[string]string{"inbound": "15006", "outbound": "15001", "admin": "15000", "health": "15021"} {
		if !regexp.MustCompile(`--` + flag + ` .*\(default .*:` + port + `\)`).Match(help) {
			t.Errorf("`sidecar run --help` does not give %s as the default of --%s", port, flag)
		}
		if !strings.Contains(readme(t), "\n| "+port) {
			t.Errorf("README does not say what port %s is for", port)
		}
	}
}

func TestPagesThatReadmeNamesExist(t *testing.T) {
	for _, found := range regexp.MustCompile("`([\\w/]+\\.md)`").FindAllStringSubmatch(readme(t), -1) {
		if _, err := os.Stat(filepath.Join(harness.Repository, found[1])); err != nil {
			t.Errorf("README names %s: %v", found[1], err)
		}
	}
}

// TestTourOfReadme types what README says, and wants to see what README shows.
func TestTourOfReadme(t *testing.T) {
	demo, portBase, dir := startDemo(t)
	harness.WaitWithin(t, demoPatience, "the demo stays up", func() bool {
		if demo.Ended() {
			t.Fatal("the demo ended")
		}
		return strings.Contains(demo.Log.String(), "Ctrl-C ends everything.")
	})
	path := pathWithCurl(t)
	for _, block := range blocks(readme(t), "console") {
		for _, step := range strings.Split(block, "$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			runStep(t, path, moved(command, portBase, dir), moved(want, portBase, dir))
		}
	}

	demo.Signal(t, syscall.SIGINT)
	if code := demo.Exit(t); code != 0 {
		t.Errorf("exit code after Ctrl-C is %d, want 0", code)
	}
	checkNothingListens(t, portBase)
}

// moved is a command of README, or what it prints, for a demo at other ports and in another folder.
func moved(command string, portBase int, dir string) string {
	command = regexp.MustCompile(`\b210\d\d\b`).ReplaceAllStringFunc(command, func(port string) string {
		n, err := strconv.Atoi(port)
		if err != nil {
			panic(err) // the pattern matches digits only
		}
		return strconv.Itoa(portBase + n - 21000)
	})
	return strings.ReplaceAll(command, ".demo/", dir+"/")
}

// runStep runs a command until it prints what is wanted: a change takes a moment to count.
// One that shows nothing runs once.
func runStep(t *testing.T, path, command, want string) {
	t.Helper()
	var got string
	once := func() bool {
		cmd := exec.Command("sh", "-c", command)
		cmd.Env = append(os.Environ(), "PATH="+path)
		out, err := cmd.CombinedOutput()
		got = string(out)
		return err == nil && matches(got, want)
	}
	if want == "" {
		if !once() {
			t.Fatalf("$ %s\n%s", command, got)
		}
		return
	}
	defer func() {
		if t.Failed() {
			t.Logf("$ %s\n%s\nwant:\n%s", command, got, want)
		}
	}()
	harness.WaitFor(t, "README's output of "+command, once)
}

// matches compares line by line; "..." in README stands for any text.
func matches(got, want string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, `[^\n]*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}
