package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dryRun returns the commands that make would run. It does not inherit the environment, because make may have started
// the test with variables set.
func dryRun(t *testing.T, environment string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run"}, arguments...)...)
	command.Dir = root
	home := t.TempDir()
	// Without this, the go command leaves a process behind that writes counters into the home while it is removed.
	program(t, filepath.Join(home, ".config/go/telemetry/mode"), "off 2026-01-01\n")
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, environment}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("make %q: %v\n%s", arguments, err, output)
	}
	return string(output)
}

// inMake returns the value of a variable in the environment of a target's recipes.
func inMake(t *testing.T, target, variable, environment string) string {
	t.Helper()
	output := dryRun(t, environment, "--eval="+target+": probe", "--eval=probe: ; +@echo \"value=$${"+variable+":-}\"", target)
	for line := range strings.Lines(output) {
		if value, found := strings.CutPrefix(line, "value="); found {
			return strings.TrimSuffix(value, "\n")
		}
	}
	t.Fatalf("make %s does not print %s:\n%s", target, variable, output)
	return ""
}

// ownState returns the name of the state directory of this checkout's test cluster.
func ownState(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		t.Fatal(err)
	}
	return "/storagebench-test" + strings.ReplaceAll(folder, "/", "-")
}

// TestTestsHaveTheirOwnCluster checks that make test uses another cluster than make demo, because tests delete all
// benchmarks of their cluster.
func TestTestsHaveTheirOwnCluster(t *testing.T) {
	const variable = "STORAGEBENCH_CLUSTER_STATE"
	own := ownState(t)
	for _, test := range []struct {
		target, environment, want string
	}{
		{"test", "", "/var/lib" + own},
		{"soak", "", "/var/lib" + own},
		{"bench", "", "/var/lib" + own},
		{"test", "XDG_STATE_HOME=/state", "/state" + own},
		{"test", "XDG_STATE_HOME=relative", "/var/lib" + own},
		{"test", variable + "=/given", "/given"},
		{"demo", "", ""},
		{"cluster-up", "", ""},
	} {
		if got := inMake(t, test.target, variable, test.environment); got != test.want {
			t.Errorf("make %s with %q uses the cluster in %q, want %q", test.target, test.environment, got, test.want)
		}
	}
}

// TestTheTestsClusterIsStoppedToo checks that make cluster-down also stops the test cluster, which killed tests leave
// running.
func TestTheTestsClusterIsStoppedToo(t *testing.T) {
	output := dryRun(t, "XDG_STATE_HOME=/state", "cluster-down")
	for _, want := range []string{"cluster down\n", "cluster --state '/state" + ownState(t) + "' down\n"} {
		if !strings.Contains(output, want) {
			t.Errorf("make cluster-down does not run %q:\n%s", want, output)
		}
	}
}

// TestRootsProgramsAreFound checks that make adds root's directories to PATH: after Debian's su, PATH is still that of
// the user.
func TestRootsProgramsAreFound(t *testing.T) {
	const want = "/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
	if got := inMake(t, "demo", "PATH", "PATH=/usr/bin:/bin"); got != want {
		t.Errorf("the PATH is %s, want %s", got, want)
	}
}

// TestOnlyTestsInABrowserInstallOne checks that only targets that need a browser install one, because some systems have
// no package for it.
func TestOnlyTestsInABrowserInstallOne(t *testing.T) {
	for target, want := range map[string]bool{"unit": false, "race": false, "test": true} {
		if got := strings.Contains(dryRun(t, "", target), "chromium"); got != want {
			t.Errorf("make %s installs a browser: %v, want %v", target, got, want)
		}
	}
}

// TestDemosSayWhatTheyNeed checks that the demo without a cluster needs only fio and no root, and that the others ask
// for root before they install anything.
func TestDemosSayWhatTheyNeed(t *testing.T) {
	local := dryRun(t, "", "demo-local", "DEMO_DIR=/mnt/my data")
	if !strings.HasPrefix(local, "hack/ensure-packages fio\n") || strings.Count(local, "ensure-packages") != 1 {
		t.Errorf("make demo-local does not first ask for fio alone:\n%s", local)
	}
	for _, want := range []string{"mkdir -p '/mnt/my data'\n", "--target 'data=/mnt/my data'\n"} {
		if !strings.Contains(local, want) {
			t.Errorf("make demo-local does not run %q:\n%s", want, local)
		}
	}
	for _, target := range []string{"demo", "cluster-up"} {
		before, _, found := strings.Cut(dryRun(t, "", target), "EUID")
		if !found || strings.Contains(before, "ensure-packages") {
			t.Errorf("make %s does not ask for root first:\n%s", target, before)
		}
	}
}

// TestTestsLeaveARunningClusterUp checks that hack/test-all does not stop a cluster that ran before, even one that was
// not ready at that moment.
func TestTestsLeaveARunningClusterUp(t *testing.T) {
	for status, down := range map[string]bool{
		"exit 1":                            true,
		"echo 'nodes  node-1, ...'":         false,
		"echo 'nodes  node-1, ...'; exit 1": false,
	} {
		folder := t.TempDir()
		log := filepath.Join(folder, "log")
		script, err := os.ReadFile(filepath.Join(root, "hack/test-all"))
		if err != nil {
			t.Fatal(err)
		}
		program(t, filepath.Join(folder, "hack/test-all"), string(script))
		program(t, filepath.Join(folder, "hack/test"), "#!/bin/sh\n")
		program(t, filepath.Join(folder, "path/go"), "#!/bin/sh\n")
		program(t, filepath.Join(folder, "bin/cluster"),
			"#!/bin/sh\ncase $1 in status) "+status+" ;; *) echo $1 >>"+log+" ;; esac\n")
		command := exec.CommandContext(t.Context(), filepath.Join(folder, "hack/test-all"), "./a")
		command.Env = []string{"PATH=" + filepath.Join(folder, "path") + ":" + os.Getenv("PATH")}
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		if _, err := os.Stat(log); (err == nil) != down {
			t.Errorf("status does `%s`: the cluster is stopped: %v, want %v", status, err == nil, down)
		}
	}
}

// bareSystem runs a command in a mount namespace in which this machine has no services.
const bareSystem = `set -eu
for folder in /etc/init.d /etc/systemd/system /run/systemd/system /usr/lib/systemd/system; do
	[ ! -d $folder ] || mount -t tmpfs tmpfs $folder
done
eval "$1"
PATH=$2 exec "$3" hack/ensure-packages prometheus
`

// TestInstalledServicesAreStopped checks that hack/ensure-packages stops the service of a package that it installs,
// because Debian starts it. A service that existed before must stay untouched.
func TestInstalledServicesAreStopped(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for before, stopped := range map[string]bool{"": true, ": >/etc/init.d/prometheus": false} {
		folder := t.TempDir()
		log := filepath.Join(folder, "log")
		program(t, filepath.Join(folder, "go"), "#!/bin/sh\n")
		program(t, filepath.Join(folder, "apt-get"), "#!/bin/sh\n")
		for _, name := range []string{"systemctl", "invoke-rc.d", "update-rc.d"} {
			program(t, filepath.Join(folder, name), "#!/bin/sh\necho $0 $* >>"+log+"\n")
		}
		command := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation=private",
			"sh", "-c", bareSystem, "sh", before, folder, bash)
		command.Dir = root
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		if did, _ := os.ReadFile(log); strings.Contains(string(did), "prometheus") != stopped {
			t.Errorf("after %q, it does:\n%s", before, did)
		}
	}
}

// program writes an executable script.
func program(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
