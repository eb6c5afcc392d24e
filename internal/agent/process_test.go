package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/test/hang"
)

// program builds the real agent once and returns its path.
var program = sync.OnceValue(func() string {
	path := filepath.Join(scratch, "agent")
	if output, err := exec.Command("go", "build", "-o", path, "../../cmd/agent").CombinedOutput(); err != nil {
		panic(string(output))
	}
	return path
})

// separate is an agent in its own process: this test program, which then calls asProgram.
type separate struct {
	*rig
	command  *exec.Cmd
	said     *bytes.Buffer
	address  string
	config   Config
	lifeline *os.File
	exited   chan error
}

// spawn starts a separate agent. wrap holds words to put before its command.
func spawn(t *testing.T, change func(*Config), wrap ...string) *separate {
	t.Helper()
	directory := t.TempDir()
	config := configuration(t, directory)
	if change != nil {
		change(&config)
	}
	text, err := json.Marshal(config)
	must(t, err)
	file := filepath.Join(t.TempDir(), "agent.json")
	must(t, os.WriteFile(file, text, 0o600))
	ready, readyWriter, err := os.Pipe()
	must(t, err)
	lifelineReader, lifeline, err := os.Pipe()
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	words := append(wrap, self, "--config="+file, "--ready=/dev/fd/3", "--lifeline=/dev/fd/4")
	s := &separate{command: exec.Command(words[0], words[1:]...), said: &bytes.Buffer{}, lifeline: lifeline, exited: make(chan error, 1)}
	s.command.ExtraFiles = []*os.File{readyWriter, lifelineReader}
	s.command.Stderr = s.said
	must(t, s.command.Start())
	must(t, readyWriter.Close())
	must(t, lifelineReader.Close())
	go func() { s.exited <- s.command.Wait() }()
	address, err := bufio.NewReader(ready).ReadString('\n')
	must(t, ready.Close())
	if err != nil {
		t.Fatalf("the agent does not say where it listens: %v; %s", err, s.said)
	}
	s.address, s.config = strings.TrimSpace(address), config
	s.rig = &rig{AgentClient: dial(t, s.address), t: t, agent: New(config, SystemClock{}), directory: directory}
	t.Cleanup(func() {
		_ = lifeline.Close()
		if s.command.ProcessState == nil {
			_ = s.command.Process.Kill()
		}
	})
	return s
}

// rigAs returns a connection to the agent if it serves a client other than 0.
func (s *separate) rigAs(client int) *rig {
	s.t.Helper()
	operator, err := authority().Operator()
	must(s.t, err)
	connection := dialAs(s.t, operator, identity.ClientOf(runUID, "target", client), s.address)
	return &rig{AgentClient: agentapi.NewAgentClient(connection), t: s.t, agent: s.agent, directory: s.config.Volumes[0].Path}
}

// running starts fio, waits until it writes, and returns all descendants of the agent.
func (s *separate) running() []process.Process {
	s.t.Helper()
	s.load(request("a", endlessWrite))
	s.start("a", noLimit)
	var below []process.Process
	eventually(s.t, "fio does not write", func() bool {
		below, _ = process.Descendants(s.command.Process.Pid)
		found, _ := filepath.Glob(filepath.Join(s.directory, dataPath, "data.*"))
		return len(below) >= 2 && len(found) > 0
	})
	return below
}

// gone waits for the agent to exit, and checks that it left nothing behind.
func (s *separate) gone(below []process.Process, wantSaid string) {
	s.t.Helper()
	select {
	case err := <-s.exited:
		if err != nil {
			s.t.Errorf("it ended with %v: %s", err, s.said)
		}
	case <-time.After(hang.Guard):
		s.t.Fatalf("it hung: %s", s.said)
	}
	if !strings.Contains(s.said.String(), wantSaid) || strings.Count(s.said.String(), "\n") > 1 {
		s.t.Errorf("it says %q, want %q", s.said, wantSaid)
	}
	for _, p := range below {
		if text, err := os.ReadFile("/proc/" + itoa(p.PID) + "/stat"); err == nil && !strings.Contains(string(text), ") Z ") {
			s.t.Errorf("process %d lives: %s", p.PID, text)
		}
	}
	if left := s.left(); len(left) > 0 {
		s.t.Errorf("left: %v", left)
	}
}

func TestAgentLeaves(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  func(*separate)
		said string
	}{
		"SIGTERM":  {end: func(s *separate) { _ = s.command.Process.Signal(syscall.SIGTERM) }, said: "it received a signal (terminated); its load was stopped and its data removed"},
		"SIGINT":   {end: func(s *separate) { _ = s.command.Process.Signal(syscall.SIGINT) }, said: "it received a signal (interrupt)"},
		"SIGHUP":   {end: func(s *separate) { _ = s.command.Process.Signal(syscall.SIGHUP) }, said: "it received a signal (hangup)"},
		"lifeline": {end: func(s *separate) { _ = s.lifeline.Close() }, said: "the process that started it has exited; its load was stopped and its data removed"},
		"told so twice": {end: func(s *separate) {
			for range 20 {
				_ = s.command.Process.Signal(syscall.SIGTERM)
			}
		}, said: "it received a signal"},
		"finished": {end: func(s *separate) { s.finish(true) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spawn(t, nil)
			below := s.running()
			test.end(s)
			s.gone(below, test.said)
		})
	}
}

// TestAgentLeavesOrphaned checks that an agent without contact exits. TestOrphan covers the rules.
func TestAgentLeavesOrphaned(t *testing.T) {
	t.Parallel()
	s := spawn(t, func(c *Config) { c.OrphanTimeout = 100 * time.Millisecond })
	s.gone(nil, "no contact with its conductor for 100ms; its load was stopped and its data removed")
}

// TestAgentAsProcessOne checks that an agent that is process 1 reaps orphans, and that no process in its namespace
// outlives it.
func TestAgentAsProcessOne(t *testing.T) {
	t.Parallel()
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc"}
	if output, err := exec.CommandContext(t.Context(), unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no PID namespace can be made here: %v: %s", err, output)
	}
	// This fio leaves orphans that exit when the gate opens, and one that stays.
	gate := filepath.Join(t.TempDir(), "gate")
	must(t, unix.Mkfifo(gate, 0o600))
	fio := fioVersion + "i=0; while [ $i -lt 20 ]; do (setsid cat <" + gate + " >/dev/null &); i=$((i+1)); done\n" +
		"(env -i PATH=$PATH setsid sleep 1000 >/dev/null 2>&1 </dev/null &); cat >/dev/null; sleep 1000\n"
	s := spawn(t, func(c *Config) { c.FioPath = executable(t, fio) }, unshare...)
	s.load(request("a", "x"))
	var one process.Process
	inside := func() (living, ended []process.Process) {
		below, err := process.Descendants(s.command.Process.Pid)
		must(t, err)
		for _, p := range below {
			switch {
			case p.PPID == s.command.Process.Pid:
				one = p
			case p.State == 'Z':
				ended = append(ended, p)
			default:
				living = append(living, p)
			}
		}
		return living, ended
	}
	eventually(t, "the orphans do not run", func() bool { living, _ := inside(); return len(living) > 20 })
	open, err := os.OpenFile(gate, os.O_RDWR, 0)
	must(t, err)
	must(t, open.Close())
	eventually(t, "the agent does not reap the orphans", func() bool {
		living, ended := inside()
		// The script, its cat and the staying orphan remain. All exist twice, because a spare fio waits for the next step.
		return len(living) <= 6 && len(ended) == 0
	})
	living, _ := inside()
	if len(living) < 2 {
		t.Errorf("only %v run", living)
	}
	must(t, syscall.Kill(one.PID, syscall.SIGTERM))
	s.gone(living, "it received a signal (terminated)")
}

// TestMemoryStaysBounded checks that the memory of an agent does not grow with the output that it reads: each dump has
// 30 kB of text, and takes more when it is decoded.
func TestMemoryStaysBounded(t *testing.T) {
	t.Parallel()
	s := spawn(t, nil)
	load := request("a", strings.Replace(endlessWrite, "rate=2m", "rate=20m", 1))
	load.GetFio().SampleIntervalNanoseconds = int64(10 * time.Millisecond)
	s.load(load)
	s.start("a", noLimit)
	sequence := func() uint64 {
		answer, err := s.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
		must(t, err)
		return answer.GetLastSequence()
	}
	eventually(t, "there are no samples", func() bool { return sequence() > 50 })
	before, from := residentKilobytes(t, s.command.Process.Pid), sequence()
	eventually(t, "there are no more samples", func() bool { return sequence() > from+200 })
	after, until := residentKilobytes(t, s.command.Process.Pid), sequence()
	t.Logf("%d kB after %d records, %d kB after %d", before, from, after, until)
	if after > 100<<10 || after > before+24<<10 {
		t.Errorf("it takes %d kB, and %d kB before", after, before)
	}
	s.finish(true)
	s.gone(nil, "")
}

func residentKilobytes(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + itoa(pid) + "/status")
	must(t, err)
	match := regexp.MustCompile(`VmRSS:\s+([0-9]+) kB`).FindSubmatch(text)
	if match == nil {
		t.Fatalf("no VmRSS in %s", text)
	}
	kilobytes, err := strconv.Atoi(string(match[1]))
	must(t, err)
	return kilobytes
}
