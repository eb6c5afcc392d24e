package local

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
)

// TestGoodRun checks the figures of a run against each other and against what was asked for.
func TestGoodRun(t *testing.T) {
	directory := t.TempDir()
	// So long that two clients whose begins are a second apart on a busy machine still have enough time in common.
	const length = 5 * time.Second
	got := call(t, "run", "--local", "-f", write(t, "duration: 2s", "duration: "+length.String()), "--target", "data="+directory, "-o", "json")
	document := got.document(t)
	if got.code != report.ExitMet {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	empty(t, directory)
	if document.SchemaVersion != 1 || document.Benchmark != "usual" || len(document.Phases) != 2 {
		t.Fatalf("the document is not that of the run: %s", got.stdout)
	}
	layout, mixed := document.Phases[0].Targets[0], document.Phases[1].Targets[0]
	if bytes := layout.Operations[0].Bytes; bytes != 2*8<<20 || !layout.WorkBound {
		t.Errorf("the layout wrote %d bytes, want 2 clients x 8 MiB", bytes)
	}
	if len(mixed.Operations) != 2 || mixed.Clients != 2 {
		t.Fatalf("operations %v of %d clients, want Read and Write of 2", mixed.Operations, mixed.Clients)
	}
	// The clients have in common what is left of the length when the last one has begun.
	skew := time.Duration(*mixed.StartSkewNanoseconds)
	if window := time.Duration(mixed.WindowNanoseconds); window < length-skew-200*time.Millisecond || window > length+100*time.Millisecond {
		t.Errorf("the common window is %s of %s, after begins that were %s apart", window, length, skew)
	}
	for _, operation := range mixed.Operations {
		checkOperation(t, operation, mixed)
	}
	if environment := document.Environments; len(environment) != 1 || environment[0].Clients != 2 ||
		!strings.HasPrefix(environment[0].ToolVersion, "fio-") || environment[0].Volumes[0].FileSystem == "" {
		t.Errorf("the environment is %+v", environment)
	}
}

// checkOperation checks what must hold of any operation with 4 KiB blocks.
func checkOperation(t *testing.T, operation v1alpha1.OperationResult, target v1alpha1.TargetResult) {
	t.Helper()
	name := operation.Operation
	// What is outstanding when fio notices the end of a warm-up may be in the bytes and not be timed (docs/limits.md).
	const untimed = 2 * 4 // clients x queue depth
	if more := operation.Bytes/4096 - operation.Operations; operation.Bytes%4096 != 0 || more < 0 || more > untimed {
		t.Errorf("%s: %d bytes in %d operations of 4 KiB", name, operation.Bytes, operation.Operations)
	}
	// Rates are of the common window, totals of the whole measured time: the two agree within what
	// the window leaves out, in which a client may have done nothing or twice as much, and one sample's interpolation.
	measured := float64(target.MeasuredNanoseconds) / float64(target.Clients)
	average, out := float64(operation.Bytes)/(measured/1e9), 1-float64(target.WindowNanoseconds)/measured
	if rate := float64(*operation.BytesPerSecond); rate < 0.85*average/(1+out) || rate > 1.15*average/(1-out) {
		t.Errorf("%s: %.0f B/s in the window, %.0f B/s on average, %.3f of the time is out of it", name, rate, average, out)
	}
	apart := 0.03 + untimed/float64(operation.Operations)
	if iops := float64(*operation.IOPSMilli) / 1000; iops*4096 < (1-apart)*float64(*operation.BytesPerSecond) ||
		iops*4096 > (1+apart)*float64(*operation.BytesPerSecond) {
		t.Errorf("%s: %.1f IOPS of 4 KiB and %d B/s", name, iops, *operation.BytesPerSecond)
	}
	l := operation.Latency
	if l.Samples != operation.Operations {
		t.Errorf("%s: %d latencies of %d operations", name, l.Samples, operation.Operations)
	}
	if l.P50Nanoseconds == nil || l.P99Nanoseconds == nil || *l.P50Nanoseconds > *l.P99Nanoseconds ||
		l.MinNanoseconds > *l.P50Nanoseconds || l.MeanNanoseconds > l.MaxNanoseconds || l.MinNanoseconds <= 0 {
		t.Errorf("%s: the latencies are out of order: %+v", name, l)
	}
}

// TestPageCacheIsNotStorage runs on tmpfs, which takes O_DIRECT and caches all the same.
func TestPageCacheIsNotStorage(t *testing.T) {
	directory, err := os.MkdirTemp("/dev/shm", "storagebench-test-")
	if err != nil {
		t.Skip("there is no tmpfs at /dev/shm: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	// One client: two could have too little time in common, which would be told first.
	got := call(t, "run", "--local", "-f", write(t, "count: 2", "count: 1"), "--target", "data="+directory, "-o", "json")
	document := got.document(t)
	if got.code != report.ExitInvalid {
		t.Errorf("exit code %d, want %d", got.code, report.ExitInvalid)
	}
	if valid := find(document, v1alpha1.ConditionValid); valid.Status != metav1.ConditionFalse ||
		valid.Reason != string(v1alpha1.WarningDirectIONotHonoured) {
		t.Errorf("Valid is %+v", valid)
	}
	empty(t, directory)
}

// TestInterrupt stops a run in its measurement: it ends soon, tidies up, and tells what it had.
func TestInterrupt(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			run := start(t, "run", "--local", "-f", write(t, "duration: 2s", "duration: 60s"), "--target", "data="+directory, "-o", "json")
			run.until(t, "[2/2] mixed: ") // ten seconds after the layout, it says what it measures
			if err := run.command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			got := run.wait(t)
			if took := time.Since(asked); took > 10*time.Second {
				t.Errorf("it took %s to stop", took)
			}
			document := got.document(t)
			failed := find(document, v1alpha1.ConditionFailed)
			if got.code != report.ExitFailed || failed.Reason != v1alpha1.ReasonStopped || !strings.Contains(failed.Message, signal.String()) {
				t.Errorf("exit code %d, Failed %+v", got.code, failed)
			}
			if len(document.Phases) != 2 || len(document.Phases[1].Targets[0].Operations) != 2 {
				t.Errorf("the results so far are missing: %s", got.stdout)
			}
			empty(t, directory)
		})
	}
}

// TestRetain keeps the data, which the next run finds and replaces without a fuss.
func TestRetain(t *testing.T) {
	directory := t.TempDir()
	file := write(t, "dataPolicy: Delete", "dataPolicy: Retain")
	for range 2 {
		got := call(t, "run", "--local", "-f", file, "--target", "data="+directory, "-o", "json")
		if got.code == report.ExitFailed {
			t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		files, err := filepath.Glob(filepath.Join(directory, v1alpha1.DataDirectory, "*", "*", "client-*", "data.*"))
		if err != nil || len(files) != 2 {
			t.Fatalf("want the files of two clients, got %v, %v", files, err)
		}
	}
	// With Delete the same benchmark takes it away.
	got := call(t, "run", "--local", "-f", write(t), "--target", "data="+directory)
	if got.code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	empty(t, directory)
}

// TestPath works in the target's path inside the directory, which has to be there.
func TestPath(t *testing.T) {
	directory := t.TempDir()
	file := write(t, "dataPolicy: Delete", "dataPolicy: Retain, path: bench/a")
	got := call(t, "run", "--local", "-f", file, "--target", "data="+directory)
	if want := filepath.Join(directory, "bench/a") + " does not exist"; got.code != report.ExitFailed || !strings.Contains(got.stderr, want) {
		t.Errorf("exit code %d, said %q, not %q", got.code, got.stderr, want)
	}
	if err := os.MkdirAll(filepath.Join(directory, "bench/a"), 0o755); err != nil {
		t.Fatal(err)
	}
	got = call(t, "run", "--local", "-f", file, "--target", "data="+directory)
	if _, err := os.Lstat(filepath.Join(directory, "bench/a", v1alpha1.DataDirectory)); err != nil || got.code == report.ExitFailed {
		t.Errorf("exit code %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
}

// TestOneRunADirectory refuses a second run of the same benchmark while the first one lives.
func TestOneRunADirectory(t *testing.T) {
	directory := t.TempDir()
	file := write(t, "duration: 2s", "duration: 6s")
	first := start(t, "run", "--local", "-f", file, "--target", "data="+directory, "-o", "json")
	first.until(t, "[1/2] layout: Write")
	second := call(t, "run", "--local", "-f", file, "--target", "data="+directory)
	if second.code != report.ExitFailed || !strings.Contains(second.stderr, "in use by another run") {
		t.Errorf("the second run: exit code %d, said %q", second.code, second.stderr)
	}
	if got := first.wait(t); got.code != report.ExitMet {
		t.Errorf("the first run: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	empty(t, directory)
}

// TestReportAgain shows a saved result as the run itself showed it.
func TestReportAgain(t *testing.T) {
	got := call(t, "run", "--local", "-f", write(t), "--target", "data="+t.TempDir(), "-o", "json")
	saved := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(saved, []byte(got.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	again := call(t, "report", saved, "-o", "json")
	if again.stdout != got.stdout || again.code != got.code {
		t.Errorf("report -o json differs from what the run printed (exit codes %d and %d)", again.code, got.code)
	}
	text := call(t, "report", saved)
	for _, want := range []string{"usual  complete", "mixed", "Read", "Write", "MB/s", "P99.9"} {
		if !strings.Contains(text.stdout, want) {
			t.Errorf("the text lacks %q:\n%s", want, text.stdout)
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
