package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// commandRequest returns a request to load a program, with samples every 200 ms.
func commandRequest(id string, words ...string) *agentapi.LoadRequest {
	return &agentapi.LoadRequest{Epoch: 1, Step: key(id), Dataset: &agentapi.Dataset{MeasureUsage: true}, Tool: &agentapi.LoadRequest_Command{
		Command: &agentapi.CommandTool{Command: words, SampleIntervalNanoseconds: int64(200 * time.Millisecond)}}}
}

// script returns a request to load a shell script.
func script(id, text string) *agentapi.LoadRequest { return commandRequest(id, "sh", "-c", text) }

// countedBy returns the counts of the given source.
func countedBy(t *testing.T, ended *agentapi.Ended, source string) *agentapi.ByteSource {
	t.Helper()
	for _, one := range ended.GetCommand().GetSources() {
		if one.GetSource() == source {
			return one
		}
	}
	t.Fatalf("%s has no count of %s", ended, source)
	return nil
}

const (
	mib = 1 << 20
	// shellNoise bounds what a shell and small tools read from their libraries and write as messages.
	shellNoise = 200 << 10
)

// TestCommandCountsAllProcesses checks that the counts include the I/O of the program, of its children and
// grandchildren, of children that live for only milliseconds, and of orphans.
func TestCommandCountsAllProcesses(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	const text = `
dd if=/dev/zero of=a bs=64k count=160 2>/dev/null
sh -c 'sh -c "dd if=/dev/zero of=b bs=64k count=160 2>/dev/null"'
for i in 1 2 3 4 5 6 7 8 9 10; do dd if=/dev/zero of=c$i bs=64k count=16 2>/dev/null; done
dd if=/dev/zero of=d bs=64k count=160 2>/dev/null & echo $! >done # its parent ends at once
`
	// The orphan is in /proc until it is reaped: its I/O is counted by then, and it is not a leftover process.
	ended, records := r.run(script("tree", "("+text+") ; read orphan <done; while [ -e /proc/$orphan ]; do sleep 0.05; done"), noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	const want = 40 * mib
	calls := countedBy(t, ended, "Calls")
	if calls.GetWriteBytes() < want || calls.GetWriteBytes() > want+shellNoise || calls.GetReadBytes() < want || calls.GetReadBytes() > want+2*mib {
		t.Errorf("%v, want %d bytes each way", calls, want)
	}
	if calls.GetWriteOperations() < 640 {
		t.Errorf("%d writes, want 640", calls.GetWriteOperations())
	}
	bytes, _ := sums(ended.GetOperations())
	if got, _ := sampled(records); got != bytes || bytes != calls.GetReadBytes()+calls.GetWriteBytes() {
		t.Errorf("the samples add up to %d bytes, the operations to %d, the calls are %v", got, bytes, calls)
	}
	if files := ended.GetUsage().GetFiles(); files != 14 {
		t.Errorf("%d files are left, want 14", files)
	}
	if found := notices(ended, records); len(found) > 0 {
		t.Errorf("notices %v", found)
	}
	if all, command := ended.GetIoEndNanoseconds()-ended.GetIoStartNanoseconds(), ended.GetCommand().GetDurationNanoseconds(); command <= 0 || all < command {
		t.Errorf("%v ran for %d ns of %d", ended.GetCommand(), command, all)
	}
	if ended.GetCpu().GetBusyNanoseconds() <= 0 {
		t.Errorf("CPU %v", ended.GetCpu())
	}
}

// TestCommandCountsAsAnotherUser checks that I/O in the last moments of a process is counted even if the agent is not
// root, as in a pod, and so may not read the counters of an exited process.
func TestCommandCountsAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("to be another user needs root")
	}
	const asAnother = `
for word; do case $word in --config=*) chown 65532 "${word#--config=}";; esac; done
cp "$1" "$0/agent" && shift && chmod 755 "$0" "$0/agent" && chown 65532 /dev/fd/3 /dev/fd/4
exec setpriv --reuid=65532 --regid=65532 --clear-groups --inh-caps=-all "$0/agent" "$@"`
	programs := t.TempDir()
	// The other user must be able to enter this directory.
	must(t, os.Chmod(filepath.Dir(programs), 0o755))
	r := spawn(t, func(c *Config) { must(t, os.Chown(c.Volumes[0].Path, 65532, 65532)) }, "sh", "-c", asAnother, programs)
	ended, records := r.run(script("last", "sleep 0.3; dd if=/dev/zero of=a bs=64k count=160 2>/dev/null"), noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v %s", ended, r.said)
	}
	if calls := countedBy(t, ended, "Calls"); calls.GetWriteBytes() < 10*mib || calls.GetWriteBytes() > 10*mib+shellNoise {
		t.Errorf("%v, want %d bytes written", calls, 10*mib)
	}
	if found := notices(ended, records); len(found) > 0 {
		t.Errorf("notices %v", found)
	}
	r.finish(true)
	r.gone(nil, "")
}

// TestCommandCountsStorage checks that, on a file system with a device, the bytes that reach the device are counted
// too.
func TestCommandCountsStorage(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	ended, _ := r.run(script("write", "dd if=/dev/zero of=a bs=1M count=20 2>/dev/null; rm -f a; dd if=/dev/zero of=b bs=1M count=10 2>/dev/null"), noLimit)
	if !slices.ContainsFunc(ended.GetCommand().GetSources(), func(s *agentapi.ByteSource) bool { return s.GetSource() == "Storage" }) {
		t.Skip("the file system of the temporary folder has no device")
	}
	// Data that was removed early may or may not have reached the device.
	if storage := countedBy(t, ended, "Storage"); storage.GetWriteBytes() < 10*mib || storage.GetWriteBytes() > 31*mib {
		t.Errorf("%v, want 10 to 30 MiB written", storage)
	}
}

// TestCommandLeavesMounts checks that the agent does not delete files on a file system that a program has left mounted
// on or below its temporary directory.
func TestCommandLeavesMounts(t *testing.T) {
	withMounts(t, func() {
		r := serve(t, nil)
		for id, below := range map[string]string{"on it": "", "below it": "/below"} {
			elsewhere, scratch := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", scratch)
			file := filepath.Join(elsewhere, "file")
			must(t, os.WriteFile(file, nil, 0o600))
			text := fmt.Sprintf(`at="$TMPDIR%s"; mkdir -p "$at" && mount --bind %s "$at"`, below, elsewhere)
			ended, _ := r.run(script(id, text), noLimit)
			if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
				t.Fatalf("%s: %v", id, ended)
			}
			left, err := filepath.Glob(scratch + "/storagebench-command-*" + below)
			must(t, err)
			if len(left) != 1 {
				t.Fatalf("%s: left %v", id, left)
			}
			_, err = os.Stat(file)
			must(t, unix.Unmount(left[0], unix.MNT_DETACH))
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

// TestCommandEnds checks the outcome, reason and message for each way in which a program can end.
func TestCommandEnds(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for i, c := range []struct {
		name, text      string
		codes           []int32
		outcome         agentapi.Outcome
		reason, message string
		code            int32
	}{
		{"well", "exit 0", nil, agentapi.Outcome_OUTCOME_COMPLETE, "", "", 0},
		{"with a code", "echo first; echo 'zip error: Nothing to do!' >&2; exit 12", nil, agentapi.Outcome_OUTCOME_FAILED, "CommandFailed",
			"sh ended with exit code 12: zip error: Nothing to do!", 12},
		{"with a code that counts", "exit 12", []int32{0, 12}, agentapi.Outcome_OUTCOME_COMPLETE, "", "", 12},
		{"with 0 that does not", "exit 0", []int32{12}, agentapi.Outcome_OUTCOME_FAILED, "CommandFailed", "sh ended with exit code 0", 0},
		{"by a signal", "kill -SEGV $$", nil, agentapi.Outcome_OUTCOME_FAILED, "CommandFailed", "sh was killed by signal 11 (segmentation fault)", 139},
		{"on a full disk", "echo 'write error: No space left on device' >&2; exit 1", nil, agentapi.Outcome_OUTCOME_FAILED, "NoSpace",
			"sh ended with exit code 1: write error: No space left on device", 1},
	} {
		load := script(fmt.Sprint("end-", i), c.text)
		load.GetCommand().SuccessExitCodes = c.codes
		ended, _ := r.run(load, noLimit)
		if ended.GetOutcome() != c.outcome || ended.GetReason() != c.reason || ended.GetMessage() != c.message || ended.GetCommand().GetExitCode() != c.code {
			t.Errorf("%s: %v", c.name, ended)
		}
	}
}

// TestCommandIsStopped checks that a stop sends SIGTERM and then SIGKILL to the program and to all processes that it
// started.
func TestCommandIsStopped(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Terminate = 500 * time.Millisecond })
	for i, c := range []struct {
		text   string
		sleeps int
	}{
		{"dd if=/dev/zero of=a bs=1M count=3 2>/dev/null; sleep 1000", 1},
		{"trap '' TERM; (trap '' TERM; sleep 1000) & sleep 1000; sleep 1000", 2},
		{"setsid sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000", 2},
	} {
		id, text := fmt.Sprint("stop-", i), c.text
		r.load(script(id, text))
		r.start(id, noLimit)
		r.agent.mu.Lock()
		run, _ := r.agent.live.load.(interface{ PID() int })
		r.agent.mu.Unlock()
		var below []process.Process
		eventually(t, "the program does not start its processes", func() bool {
			var err error
			below, err = process.Descendants(run.PID())
			must(t, err)
			sleeps := 0
			for _, one := range below {
				if one.Command == "sleep" {
					sleeps++
				}
			}
			return sleeps == c.sleeps
		})
		_, err := r.Stop(t.Context(), &agentapi.StopRequest{Epoch: 1, Reason: "the user cancelled"})
		must(t, err)
		ended, _ := r.finished(id)
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || ended.GetMessage() != "the user cancelled" || !ended.GetCommand().GetCutShort() {
			t.Errorf("%q: %v", text, ended)
		}
		if got := countedBy(t, ended, "Calls"); i == 0 && (got.GetWriteBytes() < 3*mib || got.GetWriteBytes() > 3*mib+shellNoise) {
			t.Errorf("%q: its I/O before the stop is not counted: %v", text, got)
		}
		for _, one := range below {
			if now, err := process.State(one.PID); err == nil && now.StartTicks == one.StartTicks && now.State != 'Z' {
				t.Errorf("%q: %s is left", text, now)
			}
		}
	}
}

// TestCommandDeadline checks that a program is stopped at the deadline of its phase.
func TestCommandDeadline(t *testing.T) {
	t.Parallel()
	// The clock does not advance, so the deadline is in the future even if the start order is late.
	clock := &agenttest.Clock{}
	clock.Set(time.Now().UnixMilli(), 0)
	r := serve(t, func(a *Agent) { a.env.Clock, a.env.Timeouts.Terminate = clock, 500*time.Millisecond })
	ended, _ := r.run(script("long", "sleep 1000"), time.Millisecond)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || !strings.Contains(ended.GetMessage(), "the phase") || !ended.GetCommand().GetCutShort() {
		t.Errorf("got %v", ended)
	}
	// Reaching the deadline during the setup is a failure.
	load := script("setup", "")
	load.GetCommand().Setup, load.GetCommand().Command = []string{"sleep", "1000"}, nil
	ended, _ = r.run(load, time.Millisecond)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != tool.ReasonDeadline {
		t.Errorf("got %v", ended)
	}
}

// TestCommandThatLeavesProcesses checks that leftover processes are killed and reported, and that their I/O counts.
func TestCommandThatLeavesProcesses(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	ended, records := r.run(script("leave", "setsid sh -c 'dd if=/dev/zero of=a bs=1M count=5 2>/dev/null; exec sleep 321' & until grep -q sleep /proc/$!/comm; do sleep 0.02; done"), noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	if said := notices(ended, records)["ToolMessages"]; !strings.Contains(said, "sleep") {
		t.Errorf("notices %v", notices(ended, records))
	}
	if got := countedBy(t, ended, "Calls"); got.GetWriteBytes() < 5*mib || got.GetWriteBytes() > 5*mib+shellNoise {
		t.Errorf("%v", got)
	}
}

// TestCommandThatLeavesProcessesCountsOnlyItsOwn checks that the counts leave out what `agent supervise` reads to find
// and kill leftover processes.
func TestCommandThatLeavesProcessesCountsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	reads := func(id, text string) uint64 {
		load := script(id, text)
		load.GetCommand().SampleIntervalNanoseconds = int64(time.Hour)
		ended, _ := r.run(load, noLimit)
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Fatalf("got %v", ended)
		}
		return countedBy(t, ended, "Calls").GetReadOperations()
	}
	waits, leaves := reads("waits", "sleep 0.01 & wait"), reads("leaves", "sleep 321 & true")
	// Counting it would add more: the process table is read some twenty times, with two calls per process of the machine.
	if leaves > waits+50 {
		t.Errorf("%d reads, and %d of a program that leaves nothing", leaves, waits)
	}
}

// TestCommandWhoseChildrenNobodyWaitsFor checks that the I/O seen so far of a child that no process waits for is
// counted, with a notice: the kernel discards the counters of such a child when it exits.
func TestCommandWhoseChildrenNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no python3")
	}
	r := serve(t, nil)
	const text = `import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    f = open("a", "wb", buffering=0)
    for _ in range(20): f.write(b"x" * (1 << 20))
    while not os.path.exists("seen"): time.sleep(0.02)
    os._exit(0)
try: os.wait()
except ChildProcessError: pass # it has ended, and nobody is told of it
`
	r.load(commandRequest("blind", "python3", "-c", text))
	r.start("blind", noLimit)
	eventually(t, "no sample has its writes", func() bool {
		records := rest(t, r.agent.log.After(0))
		var written uint64
		for _, record := range records {
			for _, count := range record.GetSample().GetCounts() {
				if measure.Operation(count.GetOperation()) == measure.Write { // leave out what Python reads to start
					written += count.GetBytes()
				}
			}
		}
		return written >= 20*mib
	})
	must(t, os.WriteFile(filepath.Join(r.directory, dataPath, "seen"), nil, 0o600))
	ended, records := r.finished("blind")
	if got := countedBy(t, ended, "Calls"); got.GetWriteBytes() < 20*mib {
		t.Errorf("%v", got)
	}
	if notices(ended, records)["BytesUncertain"] == "" {
		t.Errorf("notices %v of %v", notices(ended, records), ended)
	}
}

// TestCommandWords checks placeholders in arguments, the working directory and the environment of a program.
func TestCommandWords(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	load := commandRequest("words", "sh", "-c", `pwd; echo "$1" "$2" "$3" "$4"; env | cut -d= -f1 | sort | tr '\n' ' '; ls -ld "$HOME" >/dev/null && touch "$TMPDIR/x" && readlink /proc/self/fd/0`,
		"sh", "$(DATA)", "$(CLIENT)", "$$(DATA)", "a b; $HOME `id`")
	load.GetCommand().WorkingDirectory = "work/inside"
	ended, _ := r.run(load, noLimit)
	data := filepath.Join(r.directory, dataPath)
	want := data + "/work/inside\n" + data + " 0 $(DATA) a b; $HOME `id`\nHOME LANG "
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || !strings.HasPrefix(ended.GetToolMessages(), want) ||
		!strings.HasSuffix(ended.GetToolMessages(), "/dev/null\n") {
		t.Errorf("it says %q, want %q", ended.GetToolMessages(), want)
	}
	for _, name := range []string{"PATH", "TMPDIR", "STORAGEBENCH_PROCESS"} {
		if !strings.Contains(ended.GetToolMessages(), name+" ") {
			t.Errorf("its environment has no %s: %q", name, ended.GetToolMessages())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "storagebench-command-"+"*")); len(left) > 0 {
		// They may belong to tests that run in parallel.
		t.Logf("scratch directories: %v", left)
	}
}

// TestCommandHostileOutput checks that an endless, meaningless output is bounded.
func TestCommandHostileOutput(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	ended, _ := r.run(script("noise", "head -c 30000000 /dev/urandom; head -c 3000000 /dev/urandom >&2; printf 'left 1\\nended 0 0\\n'; exit 3"), noLimit)
	if ended.GetReason() != "CommandFailed" || len(ended.GetToolMessages()) > 4*tool.MessageBytes || len(ended.GetMessage()) > 1000 || ended.GetCommand().GetExitCode() != 3 {
		t.Errorf("got %d bytes of output, %q", len(ended.GetToolMessages()), ended.GetMessage())
	}
}

// TestCommandRefused checks that invalid commands are refused.
func TestCommandRefused(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for want, load := range map[string]*agentapi.LoadRequest{
		"no-such-program is not in PATH": commandRequest("missing", "no-such-program"),
		"$(HOST) is not defined":         commandRequest("word", "echo", "$(HOST)"),
		"the step has no command":        commandRequest("empty"),
	} {
		_, err := r.Load(t.Context(), load)
		if err == nil || !strings.Contains(status.Convert(err).Message(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// An earlier program leaves a symbolic link that leads out of the directory.
	must(t, os.MkdirAll(filepath.Join(r.directory, "elsewhere"), 0o700))
	ended, _ := r.run(commandRequest("link", "ln", "-s", filepath.Join(r.directory, "elsewhere"), "out"), noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	load := commandRequest("out", "touch", "file")
	load.GetCommand().WorkingDirectory = "out"
	if _, err := r.Load(t.Context(), load); err == nil {
		t.Error("a program works outside of the directory")
	}
	// A path that is not a program fails only at the start.
	ended, _ = r.run(commandRequest("file", "/etc/hostname"), noLimit)
	if ended.GetReason() != "CommandFailed" || !strings.Contains(ended.GetMessage(), "could not be started") {
		t.Errorf("got %v", ended)
	}
}

// TestCommandSetupAgain checks that a repeated step runs the setup again, so that it finds the same data as its first
// attempt.
func TestCommandSetupAgain(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	load := script("zip", "cat list; echo more >> list")
	load.GetCommand().Setup = []string{"sh", "-c", "echo one > list"}
	load.Step.Attempt = 2
	r.load(load)
	now := r.agent.env.Clock.Monotonic()
	_, err := r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: load.GetStep(), AtNanoseconds: now, DeadlineNanoseconds: now + int64(noLimit)})
	must(t, err)
	if ended, _ := r.finished("zip"); ended.GetToolMessages() != "one\n" {
		t.Errorf("got %v", ended)
	}
	load = script("again", "true")
	load.GetCommand().Setup = []string{"sh", "-c", "echo no luck; exit 4"}
	load.Step.Attempt = 2
	if _, err := r.Load(t.Context(), load); err == nil || !strings.Contains(err.Error(), "the setup, sh, ended with exit code 4: no luck") {
		t.Errorf("%v", err)
	}
}

// TestCommandDiscarded checks that a program that is stopped before its start never runs.
func TestCommandDiscarded(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.load(script("never", "touch file"))
	_, err := r.Stop(t.Context(), &agentapi.StopRequest{Epoch: 1, Reason: "no"})
	must(t, err)
	if ended, _ := r.finished("never"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED {
		t.Errorf("got %v", ended)
	}
	if _, err := os.Stat(filepath.Join(r.directory, dataPath, "file")); err == nil {
		t.Error("it ran")
	}
}

// TestCommandSetupAgainHasADeadline checks that a repeated setup has a deadline of its own: it runs while the step is
// loaded, before the step has a deadline.
func TestCommandSetupAgainHasADeadline(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Terminate = 500 * time.Millisecond })
	load := script("zip", "true")
	load.GetCommand().Setup = []string{"sleep", "1000"}
	load.Step.Attempt, load.LoadTimeoutNanoseconds = 2, 1
	if _, err := r.Load(t.Context(), load); reasonIn(err) != tool.ReasonDeadline || !strings.Contains(err.Error(), "the setup, sleep,") {
		t.Errorf("got %v", err)
	}
}
