package local

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// zipFile is a small version of the test in the AWS post: a user's files, real zip and real unzip. Pauses separate the
// phases in the store's record.
const zipFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: zip}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}], dataPolicy: Delete}]
    clients: {count: 1}
    phases:
    - name: files
      prepare: {}
      workload: {command: {command: [zip], setup: ["$(AGENT)", files, --directory, photos, --count, "60", --total-bytes, "24000000", --compress-percent, "45", --extensions, "jpg,txt"]}}
    - {name: pause-1, cooldown: {duration: 4s}}
    - name: zip
      steady: {duration: 2m}
      workload: {command: {command: [zip, -q, "-1", -r, archive.zip, photos], datasetSize: 30M}}
    - {name: pause-2, cooldown: {duration: 4s}}
    - name: unzip
      steady: {duration: 2m}
      workload: {command: {command: [unzip, -q, "$(DATA)/archive.zip"], workingDirectory: extracted, datasetSize: 24M}}
`

const (
	zipBytes = 24_000_000
	// pause is the time between two phases. It separates their I/O, so it is longer than the uncertainty of the clocks.
	pause = 4 * time.Second
)

// commandFile writes a benchmark with one phase that runs a command.
func commandFile(t *testing.T, workload string) string {
	t.Helper()
	head, _, _ := strings.Cut(zipFile, "    - name: files")
	return Write(t, Usual, head+"    - name: run\n      steady: {duration: 1m}\n      workload: {command: "+workload+"}\n")
}

// TestZip checks that, for zip and unzip on a store, bytes and rates match the store's record.
func TestZip(t *testing.T) {
	t.Parallel()
	store := Mount(t, model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 60e6}}})
	document := OnStore(t, store, "data", Write(t, Usual, zipFile))
	if valid := find(document, v1alpha1.ConditionValid); valid.Status != "True" {
		t.Errorf("the run is not valid: %s: %s", valid.Reason, valid.Message)
	}
	record := truth.Of(store.FS)
	for phase, want := range map[string]struct{ read, write, files float64 }{
		"files": {0, zipBytes, 61}, "zip": {zipBytes, zipBytes * 0.56, 62}, "unzip": {zipBytes * 0.56, zipBytes, 122},
	} {
		target := TargetOf(t, document, phase)
		if !target.WorkBound || target.Command == nil || target.Command.ExitCode != 0 || target.Command.Source != v1alpha1.SourceCalls {
			t.Errorf("%s: %+v", phase, target.Command)
			continue
		}
		var step v1alpha1.StepStatus
		for _, one := range document.Steps {
			if strings.HasSuffix(one.ID, "-"+phase) {
				step = one
			}
		}
		if step.MeasuredTime == nil || step.LastIOTime == nil {
			t.Errorf("%s: %+v", phase, step)
			continue
		}
		sums := record.Between(step.MeasuredTime.Add(-pause/2), step.LastIOTime.Add(pause/2))
		checkCounted(t, phase, "read", target, v1alpha1.OperationRead, sums.ReadBytes, want.read)
		checkCounted(t, phase, "written", target, v1alpha1.OperationWrite, sums.WriteBytes, want.write)
		if target.Usage == nil || float64(target.Usage.Files) != want.files {
			t.Errorf("%s: usage %+v, want %.0f files", phase, target.Usage, want.files)
		}
	}
	Empty(t, store.Path())
}

// checkCounted compares the bytes and the rate of an operation with the store's record.
func checkCounted(t *testing.T, phase, what string, target v1alpha1.TargetResult, operation v1alpha1.Operation, store, expected float64) {
	t.Helper()
	var bytes, rate float64
	for _, one := range target.Operations {
		if one.Operation == operation && one.BytesPerSecond != nil {
			bytes, rate = float64(one.Bytes), float64(*one.BytesPerSecond)
		}
	}
	t.Logf("%s: %.2f MB %s at %.2f MB/s, by the store's record %.2f MB", phase, bytes/1e6, what, rate/1e6, store/1e6)
	if expected == 0 {
		if store > 1e5 || bytes > 2e6 {
			t.Errorf("%s: %.0f bytes %s, and %.0f by the store, want none", phase, bytes, what, store)
		}
		return
	}
	if bytes < 0.95*store || bytes > 1.05*store || store < 0.9*expected || store > 1.1*expected {
		t.Errorf("%s: %.0f bytes %s, the store has %.0f, want about %.0f", phase, bytes, what, store, expected)
	}
	if over := rate * time.Duration(target.WindowNanoseconds).Seconds(); math.Abs(over-bytes) > 1+bytes/1e6 {
		t.Errorf("%s: %.0f bytes/s %s over the window are %.0f bytes, not %.0f", phase, rate, what, over, bytes)
	}
}

// TestCommandFailures checks that a run reports which command failed, with its output, and leaves nothing behind.
func TestCommandFailures(t *testing.T) {
	t.Parallel()
	for workload, want := range map[string]string{
		`{command: [sh, -c, "echo nothing to do >&2; exit 12"]}`:                             "sh ended with exit code 12: nothing to do (CommandFailed)",
		`{command: ["true"], setup: [sh, -c, "echo no luck; exit 3"]}`:                       "the setup, sh, ended with exit code 3: no luck (SetupFailed)",
		`{command: [sh, -c, "echo data > file; yes | head -c 4000000; exit 1"]}`:             "sh ended with exit code 1: y",
		`{command: [sh, -c, "(sleep 300 &) ; setsid sleep 300 & echo data > file; exit 7"]}`: "sh ended with exit code 7",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			got := Call(t, "run", "--local", "-f", commandFile(t, workload), "--target", "data="+directory, "-o", "json")
			failed := find(got.Document(t), v1alpha1.ConditionFailed)
			if got.Code != report.ExitFailed || failed.Status != "True" || !strings.Contains(failed.Message, want) {
				t.Errorf("exit code %d, %s: %s", got.Code, failed.Reason, failed.Message)
			}
			leavesNothing(t, directory)
		})
	}
}

// TestCommandSpace checks that a run fails before its command runs if the volume has less free space than the command
// needs.
func TestCommandSpace(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	got := Call(t, "run", "--local", "-f", commandFile(t, `{command: ["true"], datasetSize: 1P}`), "--target", "data="+directory, "-o", "json")
	if got.Code != report.ExitFailed || !strings.Contains(got.Stderr, "has too little free space") {
		t.Errorf("exit code %d, %s", got.Code, got.Stderr)
	}
	Empty(t, directory)
}

// TestCommandSucceeds checks that a command succeeds with an exit code of successExitCodes, and that processes that it
// leaves behind are reported and killed.
func TestCommandSucceeds(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	got := Call(t, "run", "--local", "-f", commandFile(t,
		// The command ends once the process that it leaves behind has become sleep. Before that, the process is a shell.
		`{command: [sh, -c, "setsid sleep 300 & dd if=/dev/zero of=$0 bs=1M count=20 2>/dev/null; until grep -q sleep /proc/$!/comm; do sleep 0.01; done; exit 5", "file-$(CLIENT)"], successExitCodes: [5]}`),
		"--target", "data="+directory, "-o", "json")
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	target := TargetOf(t, got.Document(t), "run")
	if target.Command == nil || target.Command.ExitCode != 5 || target.Command.CommandLine[3] != "file-0" {
		t.Errorf("%+v", target.Command)
	}
	warned := false
	for _, warning := range target.Warnings {
		warned = warned || warning.Type == v1alpha1.WarningToolMessages && strings.Contains(warning.Message, "sleep")
	}
	if !warned {
		t.Errorf("warnings %+v", target.Warnings)
	}
	leavesNothing(t, directory)
	shown := Call(t, "report", fileWith(t, got.Stdout), "-v").Stdout
	for _, want := range []string{"ended with exit code 5 after", "COUNTED BY", "system calls of the processes", "sh -c"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the report has no %q:\n%s", want, shown)
		}
	}
}

// fileWith writes a text to a file and returns its path.
func fileWith(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCommandInterrupt checks that Ctrl-C during a command leaves neither files nor processes, and that the result
// reports the command as cut short.
func TestCommandInterrupt(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	run := Start(t, "run", "--local", "-f", commandFile(t, `{command: [sh, -c, "setsid sleep 300 & while :; do echo data >> file; sleep 0.01; done"]}`),
		"--target", "data="+directory, "-o", "json")
	run.UntilFact(t, "the program has written", func() bool { return strings.HasSuffix(text(directory, "file"), "data\n") })
	run.Signal(t, syscall.SIGINT)
	got := run.Wait(t)
	document := got.Document(t)
	if got.Code != report.ExitFailed {
		t.Errorf("exit code %d", got.Code)
	}
	if target := TargetOf(t, document, "run"); target.Command == nil || !target.Command.CutShort {
		t.Errorf("%+v", target.Command)
	}
	leavesNothing(t, directory)
}

// TestCommandAgentKilled kills the agent while a command runs, and checks that nothing of that attempt is left and that
// setup and command run again.
func TestCommandAgentKilled(t *testing.T) {
	t.Parallel()
	directory, gate := t.TempDir(), filepath.Join(t.TempDir(), "open")
	run := Start(t, "run", "--local", "-f", commandFile(t, `{setup: [sh, -c, "echo one > list"], command: [sh, -c, "echo more >> list; setsid sleep 300 & until test -e `+gate+`; do sleep 0.02; done; test $$(wc -l < list) = 2"]}`),
		"--target", "data="+directory, "-o", "json")
	run.UntilFact(t, "the program runs", func() bool { return strings.HasSuffix(text(directory, "list"), "more\n") })
	signalAgent(t, run, syscall.SIGKILL)
	open(t, gate)
	got := run.Wait(t)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if target := TargetOf(t, got.Document(t), "run"); target.Command == nil || target.Command.ExitCode != 0 || target.Command.CutShort {
		t.Errorf("%+v", target.Command)
	}
	leavesNothing(t, directory)
}

// signalAgent sends a signal to the only agent of a run.
func signalAgent(t *testing.T, run *Running, signal syscall.Signal) {
	t.Helper()
	all, err := process.Descendants(run.command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	agents := slices.DeleteFunc(all, func(p process.Process) bool {
		words, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cmdline"))
		return !strings.Contains(string(words), "\x00agent\x00--config=")
	})
	// A child of the agent has the agent's command line until it executes its program.
	parents := map[int]bool{}
	for _, p := range agents {
		parents[p.PID] = true
	}
	agents = slices.DeleteFunc(agents, func(p process.Process) bool { return parents[p.PPID] })
	if len(agents) != 1 {
		t.Fatalf("there are %d agents", len(agents))
	}
	if err := syscall.Kill(agents[0].PID, signal); err != nil {
		t.Fatal(err)
	}
}

// text returns the content of a file of the only client, or "" if it does not exist.
func text(directory, name string) string {
	files, _ := filepath.Glob(filepath.Join(directory, ".storagebench/*/*/client-0", name))
	if len(files) != 1 {
		return ""
	}
	content, _ := os.ReadFile(files[0])
	return string(content)
}

// open opens a gate: it creates the file that a command waits for.
func open(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// leavesNothing checks that no process works in a directory, and that it is empty.
func leavesNothing(t *testing.T, directory string) {
	t.Helper()
	if left := commandsIn(t, directory); len(left) > 0 {
		t.Errorf("these processes are left: %v", left)
	}
	Empty(t, directory)
}

// commandsIn returns the command lines of the processes that work in a directory or below it.
func commandsIn(t *testing.T, directory string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		path, err := os.Readlink(link)
		if err != nil || path != directory && !strings.HasPrefix(path, directory+"/") {
			continue
		}
		words, _ := os.ReadFile(filepath.Dir(link) + "/cmdline")
		found = append(found, strings.ReplaceAll(string(words), "\x00", " "))
	}
	return found
}
