package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/test/hang"
)

// enterContainer sets up a container in a directory, like a runtime under Pod Security "restricted", and runs the rest
// of its arguments there as process 1. The container has a read-only root, its own /proc, and an emptyDir for each of
// /tmp and the agent's folder. The claim is a bind mount of a folder on the node's disk, as with local-path and
// hostPath. The user is 65532, without capabilities.
//
// $1 is the container's root, $2 the node's folder for the claim, $3 the folder of the agent's program, and $4 the
// folder of the Secret.
const enterContainer = `set -e
root=$1 claim=$2 program=$3 secret=$4; shift 4
mount --make-rprivate /
mount -t tmpfs -o size=16m,mode=755 root "$root"
cd "$root"
mkdir -p proc dev tmp usr etc/storagebench data/data storagebench/bin
for link in bin lib lib64 sbin; do [ -e /$link ] && ln -s usr/$link $link; done
mount --bind /usr usr; mount -o remount,bind,ro usr
mount --bind /dev dev
mount -t tmpfs -o mode=1777 scratch tmp
mount --bind "$claim" data/data
mount --bind "$program" storagebench/bin; mount -o remount,bind,ro storagebench/bin
mount --bind "$secret" etc/storagebench; mount -o remount,bind,ro etc/storagebench
mount -t proc proc proc
mount -o remount,ro .
exec chroot . setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
`

// container is an agent that runs in a container.
type container struct {
	*separate
	claim string
	one   process.Process
}

// contain installs and starts the agent as the init container and the container of a pod do.
func contain(t *testing.T, claimMode os.FileMode, change func(*Config)) *container {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can make a container by hand")
	}
	for _, tool := range []string{"unshare", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	root, claim, installed, secret := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	must(t, os.Chmod(claim, claimMode))
	if output, err := exec.Command("/proc/self/exe", "--install="+filepath.Join(installed, "agent")).CombinedOutput(); err != nil || len(output) > 0 {
		t.Fatalf("install: %v: %s", err, output)
	}
	config := configuration(t, claim)
	config.Listen = freeAddress(t)
	config.Volumes[0] = VolumeConfig{Name: "data", Path: "/data/data", Folder: "bench/a",
		Expect: dataset.Expectation{MustBeMountPoint: true, NotRootFilesystem: true}}
	if change != nil {
		change(&config)
	}
	text, err := json.Marshal(config)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(secret, "agent.json"), text, 0o444))

	s := &separate{said: &bytes.Buffer{}, exited: make(chan error, 1)}
	s.command = exec.Command("unshare", "--mount", "--pid", "--fork", "--ipc", "sh", "-c", enterContainer, "sh", root, claim, installed, secret,
		"/storagebench/bin/agent", "--config=/etc/storagebench/agent.json")
	s.command.Env = []string{"PATH=" + os.Getenv("PATH")}
	s.command.Stderr = s.said
	must(t, s.command.Start())
	go func() { s.exited <- s.command.Wait() }()
	t.Cleanup(func() {
		// unshare does not exit with its parent.
		below, _ := process.Descendants(s.command.Process.Pid)
		for _, p := range below {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
		_ = s.command.Process.Kill()
	})
	s.rig = &rig{AgentClient: dial(t, config.Listen), t: t, agent: New(config, SystemClock{}), directory: claim}
	return &container{separate: s, claim: claim}
}

// freeAddress returns an unused address: the agent in a pod gets its port from its configuration.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// up waits until the agent serves, and finds its process.
func (c *container) up() *agentapi.DescribeResponse {
	c.t.Helper()
	var answer *agentapi.DescribeResponse
	eventually(c.t, "the agent does not serve", func() bool {
		var err error
		answer, err = c.Describe(c.t.Context(), &agentapi.DescribeRequest{Epoch: 1})
		return err == nil
	})
	below, err := process.Descendants(c.command.Process.Pid)
	must(c.t, err)
	for _, p := range below {
		if p.PPID == c.command.Process.Pid {
			c.one = p
		}
	}
	return answer
}

// TestAgentInAContainer checks that the agent in a container verifies the claim, creates its folder, runs fio there,
// and removes its data on SIGTERM.
func TestAgentInAContainer(t *testing.T) {
	t.Parallel()
	c := contain(t, 0o777, nil)
	answer := c.up()
	if volume := answer.GetVolumes()[0]; volume.GetProblem() != "" || volume.GetPath() != "/data/data/bench/a" || volume.GetTotalBytes() == 0 {
		t.Errorf("volume %v", volume)
	}
	if tool := answer.GetTools()[0]; tool.GetProblem() != "" {
		t.Fatalf("tool %v", tool)
	}
	for _, line := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Uid:\t65532"} {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.one.PID)); err != nil || !strings.Contains(string(text), line) {
			t.Errorf("the agent's process lacks the restriction %s: %v", line, err)
		}
	}
	job := strings.Replace(quickWrite, "ioengine=psync", "ioengine=libaio\niodepth=4\ndirect=1", 1)
	ended, records := c.run(request("a", job), noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	all, _ := sums(ended.GetOperations())
	if bytes, _ := sampled(records); bytes != all || all != 1<<20 {
		t.Errorf("samples have %d bytes of %d: fio's live output is missing", bytes, all)
	}
	t.Log(notices(ended, records))
	files, err := filepath.Glob(filepath.Join(c.claim, "bench/a", dataPath, "data.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the claim has %v, %v", files, err)
	}
	// Send SIGTERM during the next step.
	c.load(request("b", endlessWrite))
	c.start("b", noLimit)
	eventually(t, "fio does not run", func() bool {
		below, _ := process.Descendants(c.one.PID)
		return len(below) >= 2
	})
	below, err := process.Descendants(c.one.PID)
	must(t, err)
	must(t, syscall.Kill(c.one.PID, syscall.SIGTERM))
	select {
	case err := <-c.exited:
		if err != nil || !strings.Contains(c.said.String(), "it received a signal (terminated); its load was stopped and its data removed") {
			t.Errorf("it ended with %v and says %q", err, c.said)
		}
	case <-time.After(hang.Guard):
		t.Fatal("it hung")
	}
	for _, p := range below {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID)); err == nil {
			t.Errorf("process %d lives", p.PID)
		}
	}
	left, err := os.ReadDir(filepath.Join(c.claim, "bench/a"))
	if err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestAgentMayNotWrite checks that the problem of a volume that the pod's user cannot write to names the remedy.
func TestAgentMayNotWrite(t *testing.T) {
	t.Parallel()
	c := contain(t, 0o755, nil)
	want := "/data/data permission denied (it has owner 0, group 0 and mode 0755; this process runs as user 65532, group 65532); " +
		"run the clients as a user or group with rwx permission on it: set " +
		"clients.template.securityContext.runAsUser, or fsGroup where the volume's driver supports it"
	if problem := c.up().GetVolumes()[0].GetProblem(); problem != want {
		t.Errorf("got  %s\nwant %s", problem, want)
	}
	if left := c.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	must(t, syscall.Kill(c.one.PID, syscall.SIGTERM))
	must(t, <-c.exited)
}

// TestAgentThatCannotStart checks that an agent that cannot start fails and prints the reason on one line, which
// becomes the termination message.
func TestAgentThatCannotStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	encode := func(change func(*Config)) string {
		config := configuration(t, directory)
		change(&config)
		text, err := json.Marshal(config)
		must(t, err)
		return string(text)
	}
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"port in use": {[]string{"--config=" + write("port", encode(func(c *Config) { c.Listen = taken.Addr().String() }))},
			"error: listen: listen tcp " + taken.Addr().String() + ": bind: address already in use"},
		"no configuration": {[]string{"--config=" + filepath.Join(directory, "none")},
			"error: open the agent's configuration (--config): open " + filepath.Join(directory, "none") + ": no such file or directory"},
		"bad configuration":   {[]string{"--config=" + write("bad", "{")}, "error: decode the agent's configuration: unexpected EOF"},
		"other configuration": {[]string{"--config=" + write("other", `{"else":1}`)}, `error: decode the agent's configuration: json: unknown field "else"`},
		"no key": {[]string{"--config=" + write("key", encode(func(c *Config) { c.Identity.KeyPEM = "" }))},
			"error: read the agent's identity: configure an agent's TLS: read an identity"},
		"folder outside": {[]string{"--config=" + write("folder", encode(func(c *Config) { c.Volumes[0].Folder = "../.." }))},
			`error: volume data in the agent's configuration: path "../..": must be a relative path inside the volume`},
		"nowhere to install":  {[]string{"--install=" + filepath.Join(directory, "none/agent")}, "error: install the agent: "},
		"no place to install": {[]string{"--install=" + directory}, "error: install the agent as " + directory + ": "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := exec.CommandContext(t.Context(), program(), test.arguments...).CombinedOutput()
			if err == nil || !strings.HasPrefix(string(output), test.want) || strings.Count(string(output), "\n") != 1 {
				t.Errorf("%v\ngot  %s\nwant %s", err, output, test.want)
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(directory), ".agent-*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestInstall checks that the installed file is a copy of the program that everyone can execute.
func TestInstall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent")
	for range 2 { // an init container may run again and replace the file
		if output, err := exec.CommandContext(t.Context(), program(), "--install="+path).CombinedOutput(); err != nil || len(output) > 0 {
			t.Fatalf("%v: %s", err, output)
		}
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode() != 0o755 {
		t.Errorf("mode %v", info.Mode())
	}
	want, err := os.ReadFile(program())
	must(t, err)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("it differs: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
}
