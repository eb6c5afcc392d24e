package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// mpiFile is a benchmark of two clients with two ranks each.
const mpiFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: ranks}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}], dataPolicy: Delete}]
    clients: {count: 2, spread: Any, processesPerClient: 2}
    workload: {ior: {transferSize: 256Ki, blockSize: 8Mi, direct: true}}
    phases:
    - {name: layout, prepare: {}}
    - {name: write, steady: {duration: 4s}, workload: {ior: {transferSize: 256Ki, blockSize: 8Mi, direct: true, useExistingFiles: true}}}
    - {name: read, steady: {duration: 4s}, workload: {ior: {transferSize: 256Ki, blockSize: 8Mi, direct: true, operations: [Read]}}}
    - {name: metadata, steady: {duration: 1m}, workload: {mdtest: {filesPerProcess: 50, iterations: 2, fileSize: 4Ki}}}
`

// mpiWritten is the size of all files: four ranks with one block each.
const mpiWritten = 4 * 8 << 20

// mpiBenchmark writes mpiFile with replacements, which are pairs of an old and a new text.
func mpiBenchmark(t *testing.T, replacements ...string) string {
	t.Helper()
	return Write(t, Usual, strings.NewReplacer(replacements...).Replace(mpiFile))
}

// TestMPI runs IOR and mdtest on a store with a known bandwidth and checks that the figures match its record.
func TestMPI(t *testing.T) {
	t.Parallel()
	WithIOR(t)
	store := Mount(t, model.Config{Scenario: "20 MB/s", Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 20e6}},
		Latency: model.Latency{Fixed: time.Millisecond}})
	document := OnStore(t, store, "data", mpiBenchmark(t))
	record := truth.Of(store.FS)
	for _, phase := range []string{"write", "read"} {
		target := TargetOf(t, document, phase)
		for _, step := range document.Steps {
			if strings.HasSuffix(step.ID, "-"+phase) {
				checkBandwidth(t, phase, target, record, step)
				checkIOR(t, target, phase)
			}
		}
	}
	checkMdtest(t, TargetOf(t, document, "metadata"))
	Empty(t, store.Path())
}

// checkIOR compares what IOR reports with what was requested.
func checkIOR(t *testing.T, target v1alpha1.TargetResult, phase string) {
	t.Helper()
	own := target.IOR
	if own == nil || own.Ranks != 4 || own.Clients != 2 || own.Version == "" || len(own.Operations) != 1 || own.Operations[0].Count != 1 {
		t.Fatalf("%s: IOR says %+v", phase, own)
	}
	if line := strings.Join(own.CommandLine, " "); !strings.HasPrefix(line, "ior -a POSIX -t 256k -b 8m ") {
		t.Errorf("%s: the command line is %q", phase, line)
	}
}

// checkBandwidth checks that a rate is within the bounds of the store's record.
func checkBandwidth(t *testing.T, phase string, target v1alpha1.TargetResult, record truth.Record, step v1alpha1.StepStatus) {
	t.Helper()
	if len(target.Operations) != 1 || target.Operations[0].BytesPerSecond == nil || step.MeasuredTime == nil {
		t.Fatalf("%s: operations %+v, step %+v", phase, target.Operations, step)
	}
	from, to := truth.Window(target, step.MeasuredTime.Time)
	bounds := record.Rate(truth.Bytes, truth.Span{From: from, To: to, Edge: truth.Edge})
	rate := float64(*target.Operations[0].BytesPerSecond)
	t.Logf("%s: %.0f bytes/s from %s to %s, by the store's record %s", phase, rate, from, to, bounds)
	if !bounds.Hold(rate) {
		t.Errorf("%s: %.0f bytes/s, by the store's record %s", phase, rate, bounds)
	}
}

func checkMdtest(t *testing.T, target v1alpha1.TargetResult) {
	t.Helper()
	own := target.Mdtest
	if own == nil || own.Ranks != 4 || own.Clients != 2 || !target.WorkBound {
		t.Fatalf("mdtest says %+v", own)
	}
	rates := map[string]v1alpha1.MdtestRate{}
	for _, rate := range own.Rates {
		rates[rate.Operation] = rate
	}
	for _, operation := range []string{"Directory creation", "File creation", "File stat", "File read", "File removal", "Tree creation"} {
		if rate := rates[operation]; rate.MeanOPSMilli <= 0 || rate.MinOPSMilli > rate.MeanOPSMilli || rate.MeanOPSMilli > rate.MaxOPSMilli {
			t.Errorf("the rate of %q is %+v", operation, rate)
		}
	}
}

// TestMPIFiles checks that the files on the disk are as large as the figures say, all below the directory of one
// client.
func TestMPIFiles(t *testing.T) {
	t.Parallel()
	WithIOR(t)
	directory := t.TempDir()
	file := mpiBenchmark(t, "dataPolicy: Delete", "dataPolicy: Retain", "duration: 4s", "duration: 1s")
	got := Call(t, "run", "--local", "-f", file, "--target", "data="+directory, "-o", "json")
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	document := got.Document(t)
	layout := TargetOf(t, document, "layout")
	if layout.IOR == nil || len(layout.IOR.Operations) != 1 || layout.IOR.Operations[0].Bytes != mpiWritten {
		t.Errorf("the layout is %+v, want %d bytes", layout.IOR, mpiWritten)
	}
	// The counters include everything that a rank writes, also its messages over MPI.
	if len(layout.Operations) != 1 || layout.Operations[0].Bytes < mpiWritten || layout.Operations[0].Bytes > mpiWritten*101/100 {
		t.Errorf("the ranks' own counters have %+v, want %d bytes", layout.Operations, mpiWritten)
	}
	files, err := filepath.Glob(filepath.Join(directory, v1alpha1.DataDirectory, "*", "*", "client-*", "ior.data.*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("want the files of four ranks, got %v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() != mpiWritten/4 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
		if filepath.Dir(file) != filepath.Dir(files[0]) {
			t.Errorf("%s is not beside %s", file, files[0])
		}
	}
	if left, err := filepath.Glob(filepath.Join(directory, v1alpha1.DataDirectory, "*", "*", "client-*", "mdtest*")); err != nil || len(left) > 0 {
		t.Errorf("mdtest has left %v, %v", left, err)
	}
}

// TestMPIInterrupt checks that an interrupted run leaves no rank and no file.
func TestMPIInterrupt(t *testing.T) {
	t.Parallel()
	WithIOR(t)
	directory := t.TempDir()
	file := mpiBenchmark(t, "duration: 4s", "duration: 300s")
	run := Start(t, "run", "--local", "-f", file, "--target", "data="+directory, "-o", "json")
	run.Until(t, "[1/4] layout: ")
	run.UntilFact(t, "ranks at work", func() bool { return ranksIn(t, directory) == 4 })
	run.Signal(t, os.Interrupt)
	if got := run.Wait(t); got.Code != report.ExitFailed {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	leavesNothing(t, directory)
}

// ranksIn counts the ior processes that work in a directory or below it.
func ranksIn(t *testing.T, directory string) (ranks int) {
	t.Helper()
	for _, line := range commandsIn(t, directory) {
		if program, _, _ := strings.Cut(line, " "); filepath.Base(program) == "ior" {
			ranks++
		}
	}
	return ranks
}
