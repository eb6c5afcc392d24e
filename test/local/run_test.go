package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// TestGoodRun checks the figures of a run against each other and the specification, and that `report` shows its saved
// result.
func TestGoodRun(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+directory, "-o", "json")
	document := got.Document(t)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	Empty(t, directory)
	if document.SchemaVersion != 1 || document.Benchmark != "usual" || len(document.Phases) != 2 {
		t.Fatalf("the document is not that of the run: %s", got.Stdout)
	}
	layout, mixed := document.Phases[0].Targets[0], document.Phases[1].Targets[0]
	// If a client started late, all clients repeated the step, without writing again what they had written.
	repeated := slices.ContainsFunc(document.Steps, func(step v1alpha1.StepStatus) bool { return step.Attempt > 1 })
	if bytes := layout.Operations[0].Bytes; bytes != 2*8<<20 && !repeated || !layout.WorkBound {
		t.Errorf("the layout wrote %d bytes, want 2 clients x 8 MiB", bytes)
	}
	if len(mixed.Operations) != 2 || mixed.Clients != 2 {
		t.Fatalf("operations %v of %d clients, want Read and Write of 2", mixed.Operations, mixed.Clients)
	}
	for _, operation := range mixed.Operations {
		checkOperation(t, operation)
	}
	if environment := document.Environments; len(environment) != 1 || environment[0].Clients != 2 ||
		!strings.HasPrefix(environment[0].ToolVersion, "fio-") || environment[0].Volumes[0].FileSystem == "" {
		t.Errorf("the environment is %+v", environment)
	} else if storage := document.Storage; len(storage) != 1 || storage[0].Volumes[0].FileSystem != environment[0].Volumes[0].FileSystem {
		t.Errorf("the environment is %+v, but the recorded storage is %+v", environment, storage)
	}
	checkReportAgain(t, got)
}

// checkOperation checks what must be true of any operation with 4 KiB blocks.
func checkOperation(t *testing.T, operation v1alpha1.OperationResult) {
	t.Helper()
	name := operation.Operation
	// The bytes may include operations that were outstanding when fio noticed the end of the warm-up and that it did not
	// time (docs/limits.md).
	const untimed = 2 * 4 // clients x queue depth
	if more := operation.Bytes/4096 - operation.Operations; operation.Bytes%4096 != 0 || more < 0 || more > untimed {
		t.Errorf("%s: %d bytes in %d operations of 4 KiB", name, operation.Bytes, operation.Operations)
	}
	l := operation.Latency
	if l.Samples != operation.Operations {
		t.Errorf("%s: %d latencies of %d operations", name, l.Samples, operation.Operations)
	}
	// A busy machine may leave too few samples for the high percentiles.
	order := []int64{l.MinNanoseconds}
	for _, percentile := range []*int64{l.P50Nanoseconds, l.P95Nanoseconds, l.P99Nanoseconds, l.P999Nanoseconds} {
		if percentile != nil {
			order = append(order, *percentile)
		}
	}
	if l.P50Nanoseconds == nil || !slices.IsSorted(append(order, l.MaxNanoseconds)) || l.MeanNanoseconds > l.MaxNanoseconds || l.MinNanoseconds <= 0 {
		t.Errorf("%s: the latencies are out of order: %+v", name, l)
	}
}

// TestPageCacheIsNotStorage checks that a run on tmpfs, which accepts O_DIRECT but caches all the same, is not valid.
func TestPageCacheIsNotStorage(t *testing.T) {
	t.Parallel()
	directory, err := os.MkdirTemp("/dev/shm", "storagebench-test-")
	if err != nil {
		t.Skip("there is no tmpfs at /dev/shm: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	// One client: two may have too little time in common, which would be reported first.
	got := Call(t, "run", "--local", "-f", Write(t, "count: 2", "count: 1"), "--target", "data="+directory, "-o", "json")
	document := got.Document(t)
	if got.Code != report.ExitInvalid {
		t.Errorf("exit code %d, want %d", got.Code, report.ExitInvalid)
	}
	if valid := find(document, v1alpha1.ConditionValid); valid.Status != metav1.ConditionFalse ||
		valid.Reason != string(v1alpha1.WarningDirectIONotHonoured) {
		t.Errorf("Valid is %+v", valid)
	}
	Empty(t, directory)
}

// TestInterrupt stops a run while it measures. The run must clean up and show its results so far.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} { // TestCommandInterrupt sends SIGINT
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			store := Mount(t, model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsOperations, BaselinePerSecond: 1000}}})
			directory := store.Path()
			run := Start(t, "run", "--local", "-f", Write(t, "duration: 1s", "duration: 300s"), "--target", "data="+directory, "-o", "json")
			run.Until(t, "[1/2] layout: Write")
			before, _ := store.Load()
			run.UntilFact(t, "clients measure", func() bool { asked, _ := store.Load(); return asked > before+500 })
			run.Signal(t, signal)
			got := run.Wait(t)
			document := got.Document(t)
			failed := find(document, v1alpha1.ConditionFailed)
			if got.Code != report.ExitFailed || failed.Reason != v1alpha1.ReasonStopped || !strings.Contains(failed.Message, signal.String()) {
				t.Errorf("exit code %d, Failed %+v", got.Code, failed)
			}
			if len(document.Phases) != 2 || len(document.Phases[1].Targets[0].Operations) != 2 {
				t.Errorf("the results so far are missing: %s", got.Stdout)
			}
			Empty(t, directory)
		})
	}
}

// TestNohup checks that SIGHUP, which a closing terminal sends, does not stop a run that was started with SIGHUP
// ignored.
func TestNohup(t *testing.T) {
	t.Parallel()
	directory, gate := t.TempDir(), filepath.Join(t.TempDir(), "open")
	file := commandFile(t, `{command: [sh, -c, "echo data > file; until test -e `+gate+`; do sleep 0.02; done"]}`)
	run := startCommand(t, exec.Command("sh", "-c", `trap "" HUP; exec "$0" "$@"`,
		Program, "run", "--local", "-f", file, "--target", "data="+directory))
	run.UntilFact(t, "the run's program runs", func() bool { return text(directory, "file") != "" })
	run.Signal(t, syscall.SIGHUP)
	signalRunner(t, run, syscall.SIGHUP)
	open(t, gate)
	if got := run.Wait(t); got.Code != report.ExitMet {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	Empty(t, directory)
}

// TestAgentToldToEnd terminates an agent after the layout. The agent removes its data, and its replacement must lay it
// out again before the data is read.
func TestAgentToldToEnd(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := Write(t, "count: 2", "count: 1", "readPercent: 50", "readPercent: 100", "duration: 1s", "duration: 4s")
	run := Start(t, "run", "--local", "-f", file, "--target", "data="+directory, "-o", "json")
	run.Until(t, "[1/2] layout: Write")
	signalAgent(t, run, syscall.SIGTERM)
	got := run.Wait(t)
	document := got.Document(t)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d: %+v", got.Code, find(document, v1alpha1.ConditionFailed))
	}
	laidOutAgain := slices.ContainsFunc(document.Steps, func(step v1alpha1.StepStatus) bool {
		return step.ID == "00-layout" && step.Attempt == 2
	})
	if !laidOutAgain || len(document.LostClients) != 1 {
		t.Errorf("steps %+v, lost %+v", document.Steps, document.LostClients)
	}
	Empty(t, directory)
}

// TestRetain checks that data is kept with dataPolicy Retain, and that the next run finds and replaces it.
func TestRetain(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := Write(t, "dataPolicy: Delete", "dataPolicy: Retain")
	for range 2 {
		got := Call(t, "run", "--local", "-f", file, "--target", "data="+directory, "-o", "json")
		if got.Code == report.ExitFailed {
			t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
		files, err := filepath.Glob(filepath.Join(directory, v1alpha1.DataDirectory, "*", "*", "client-*", "data.*"))
		if err != nil || len(files) != 2 {
			t.Fatalf("want the files of two clients, got %v, %v", files, err)
		}
	}
	// With Delete, the same benchmark removes it.
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+directory)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	Empty(t, directory)
}

// TestPath checks that a run works in the target's path inside the directory, which must exist.
func TestPath(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := Write(t, "dataPolicy: Delete", "dataPolicy: Retain, path: bench/a")
	got := Call(t, "run", "--local", "-f", file, "--target", "data="+directory)
	if want := filepath.Join(directory, "bench/a") + " does not exist"; got.Code != report.ExitFailed || !strings.Contains(got.Stderr, want) {
		t.Errorf("exit code %d, said %q, not %q", got.Code, got.Stderr, want)
	}
	if err := os.MkdirAll(filepath.Join(directory, "bench/a"), 0o755); err != nil {
		t.Fatal(err)
	}
	got = Call(t, "run", "--local", "-f", file, "--target", "data="+directory)
	if _, err := os.Lstat(filepath.Join(directory, "bench/a", v1alpha1.DataDirectory)); err != nil || got.Code == report.ExitFailed {
		t.Errorf("exit code %d, %v\n%s%s", got.Code, err, got.Stdout, got.Stderr)
	}
}

// TestOneRunADirectory checks that a second run of the same benchmark is refused while the first one is live.
func TestOneRunADirectory(t *testing.T) {
	t.Parallel()
	directory, gate := t.TempDir(), filepath.Join(t.TempDir(), "open")
	file := commandFile(t, `{command: [sh, -c, "echo data > file; until test -e `+gate+`; do sleep 0.02; done"]}`)
	first := Start(t, "run", "--local", "-f", file, "--target", "data="+directory, "-o", "json")
	first.UntilFact(t, "the first run's program runs", func() bool { return text(directory, "file") != "" })
	second := Call(t, "run", "--local", "-f", file, "--target", "data="+directory)
	if second.Code != report.ExitFailed || !strings.Contains(second.Stderr, "in use by another run") {
		t.Errorf("the second run: exit code %d, said %q", second.Code, second.Stderr)
	}
	open(t, gate)
	if got := first.Wait(t); got.Code != report.ExitMet {
		t.Errorf("the first run: exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	Empty(t, directory)
}

// checkReportAgain checks that `report` shows a saved result as the run itself showed it.
func checkReportAgain(t *testing.T, got Outcome) {
	t.Helper()
	saved := fileWith(t, got.Stdout)
	again := Call(t, "report", saved, "-o", "json")
	if again.Stdout != got.Stdout || again.Code != got.Code {
		t.Errorf("report -o json differs from what the run printed (exit codes %d and %d)", again.Code, got.Code)
	}
	text := Call(t, "report", saved, "-v")
	for _, want := range []string{"usual  complete", "mixed", "Read", "Write", "MB/s", "P50"} {
		if !strings.Contains(text.Stdout, want) {
			t.Errorf("the text lacks %q:\n%s", want, text.Stdout)
		}
	}
}

func find(document report.Document, kind string) metav1.Condition {
	for _, condition := range document.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return metav1.Condition{}
}

// TestSavedWithoutAReader checks that the result is saved even if nothing reads the run's standard output any more, as
// after `| head`.
func TestSavedWithoutAReader(t *testing.T) {
	t.Parallel()
	directory, saved := t.TempDir(), filepath.Join(t.TempDir(), "r.json")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(Program, "run", "--local", "-f", commandFile(t, `{command: [sh, -c, "echo data > file"]}`), "--target", "data="+directory, "--save", saved)
	command.Stdout = writer
	if err := command.Run(); err == nil {
		t.Error("the run succeeded without a reader of its result")
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(saved)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if document, err := report.Read(file); err != nil || find(document, v1alpha1.ConditionComplete).Status != metav1.ConditionTrue {
		t.Errorf("the saved run: %v, %+v", err, document.Conditions)
	}
	Empty(t, directory)
}

// TestInterruptWithoutAReader stops a run whose standard error has no reader any more, as Ctrl-C does with `2>&1 |
// tee`. What the run has measured must be saved.
func TestInterruptWithoutAReader(t *testing.T) {
	t.Parallel()
	directory, saved := t.TempDir(), t.TempDir()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file := commandFile(t, `{command: [sh, -c, "while :; do echo data >> file; sleep 0.01; done"]}`)
	names := []string{filepath.Join(saved, "1.json"), filepath.Join(saved, "2.json")}
	command := exec.Command(Program, "run", "--local", "-f", file, "--target", "data="+directory, "--save", names[0], "--save", names[1])
	command.Stderr = writer
	run := startCommand(t, command)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	run.UntilFact(t, "the program has written", func() bool { return strings.HasSuffix(text(directory, "file"), "data\n") })
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	run.Signal(t, syscall.SIGINT)
	run.Wait(t)
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		document := Outcome{Stdout: string(content)}.Document(t)
		target := TargetOf(t, document, "run")
		if failed := find(document, v1alpha1.ConditionFailed); failed.Reason != v1alpha1.ReasonStopped || target.Command == nil || !target.Command.CutShort {
			t.Errorf("%s: Failed %+v, %+v", name, failed, target.Command)
		}
	}
	Empty(t, directory)
}
