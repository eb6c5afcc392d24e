package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/internal/report"
)

// TestRepeatedRuns checks that --repeat 2 does two runs, each with its own files, and shows how much they vary.
func TestRepeatedRuns(t *testing.T) {
	t.Parallel()
	directory, saved := t.TempDir(), filepath.Join(t.TempDir(), "result.json")
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+directory, "--repeat", "2", "-o", "json", "--save", saved)
	Empty(t, directory)
	for _, text := range []string{"usual: 2 clients per target", "2 runs", "each run writes 16.78 MB to lay out data", "run 1 of 2: usual-", "run 2 of 2: usual-"} {
		if !strings.Contains(got.Stderr, text) {
			t.Errorf("it does not say %q:\n%s", text, got.Stderr)
		}
	}
	var all []report.Document
	for _, name := range []string{"-1.json", "-2.json"} {
		file, err := os.Open(strings.TrimSuffix(saved, ".json") + name)
		if err != nil {
			t.Fatal(err)
		}
		document, err := report.Read(file)
		if err != nil || file.Close() != nil {
			t.Fatal(err)
		}
		all = append(all, document)
	}
	if all[0].RunUID == all[1].RunUID || all[0].Spec.Hash != all[1].Spec.Hash {
		t.Errorf("want two runs of one specification: %s, %s", all[0].Run, all[1].Run)
	}
	want, err := report.NewRepeats(all)
	if err != nil { // the machine disturbed a run, so it does not count: the command says so and shows the last run
		last, unread := report.Read(strings.NewReader(got.Stdout))
		if got.Code != report.ExitInvalid || !strings.Contains(got.Stderr, err.Error()) || unread != nil || last.RunUID != all[1].RunUID {
			t.Errorf("exit code %d for runs without a variance (%v), read %v:\n%s", got.Code, err, unread, got.Stderr)
		}
		return
	}
	var shown report.Repeats
	if err := json.Unmarshal([]byte(got.Stdout), &shown); err != nil || len(shown.Runs) != 2 || len(shown.Figures) != len(want.Figures) || len(shown.Figures) == 0 {
		t.Errorf("the variance is %v\n%s", err, got.Stdout)
	}
	if got.Code == report.ExitFailed || got.Code == report.ExitInvalid {
		t.Errorf("exit code %d", got.Code)
	}
}

// TestLaterRunIsRefused does a run whose command removes the benchmark's file, so the second run cannot start. The
// result of the first one must be shown all the same.
func TestLaterRunIsRefused(t *testing.T) {
	t.Parallel()
	directory, file := t.TempDir(), filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.Rename(commandFile(t, `{command: [sh, -c, "echo data > file; rm `+file+`"]}`), file); err != nil {
		t.Fatal(err)
	}
	got := Call(t, "run", "--local", "-f", file, "--target", "data="+directory, "--repeat", "3", "-o", "json")
	document := got.Document(t)
	if complete := find(document, v1alpha1.ConditionComplete); complete.Status != metav1.ConditionTrue || got.Code != report.ExitFailed {
		t.Errorf("exit code %d, Complete is %+v", got.Code, complete)
	}
	for _, text := range []string{"run 1 of 3: ", "error: ", file} {
		if !strings.Contains(got.Stderr, text) {
			t.Errorf("it does not say %q:\n%s", text, got.Stderr)
		}
	}
	Empty(t, directory)
}

// TestRunnerKilledInALaterRun kills the runner during the third run and checks that the guard shows all three runs and
// saves the third.
func TestRunnerKilledInALaterRun(t *testing.T) {
	t.Parallel()
	directory, log, saved := t.TempDir(), filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "result.json")
	file := commandFile(t, `{command: [sh, -c, "echo data > file; echo run >> `+log+`; test $$(wc -l < `+log+`) -lt 3 || sleep 300"]}`)
	run := Start(t, "run", "--local", "-f", file, "--target", "data="+directory, "--repeat", "4", "-o", "json", "--save", saved)
	run.UntilFact(t, "the third run's program runs", func() bool {
		runs, _ := os.ReadFile(log)
		return strings.Count(string(runs), "run\n") == 3
	})
	signalRunner(t, run, syscall.SIGKILL)
	got := run.Wait(t)
	if got.Code != report.ExitFailed || !strings.Contains(got.Stderr, "run 3 of 4: ") {
		t.Errorf("exit code %d:\n%s", got.Code, got.Stderr)
	}
	// If the machine disturbed one of the completed runs, there is no variance, and the command says why.
	var shown report.Repeats
	if err := json.Unmarshal([]byte(got.Stdout), &shown); err != nil || len(shown.Runs) != 3 && !strings.Contains(got.Stderr, "of 3 runs") {
		t.Errorf("shows %d runs, %v:\n%s%s", len(shown.Runs), err, got.Stdout, got.Stderr)
	}
	if _, err := os.Stat(strings.TrimSuffix(saved, ".json") + "-3.json"); err != nil {
		t.Error(err)
	}
	Empty(t, directory)
}

// signalRunner sends a signal to the runner, the process that conducts the run.
func signalRunner(t *testing.T, run *Running, signal syscall.Signal) {
	t.Helper()
	guard := run.command.Process.Pid
	all, err := process.Descendants(guard)
	if err != nil {
		t.Fatal(err)
	}
	runner := slices.IndexFunc(all, func(p process.Process) bool { return p.PPID == guard })
	if err := syscall.Kill(all[runner].PID, signal); err != nil {
		t.Fatal(err)
	}
}
