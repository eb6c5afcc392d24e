package local

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// smallFilesFile is a benchmark of two clients, each with 200 files in two directories, with fio and with mdtest.
const smallFilesFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: small-files}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}], dataPolicy: Delete}]
    clients: {count: 2, spread: Any, processesPerClient: 2}
    workload: {fio: {pattern: Sequential, readPercent: 0, blockSize: 4Ki, jobs: 2, filesPerJob: 100, datasetSize: 800Ki, direct: false}}
    phases:
    - {name: files, smallFiles: {}}
    - {name: ranks, steady: {duration: 5m}, workload: {mdtest: {filesPerProcess: 100, filesOnly: true, uniqueDirectories: true}}}
`

// TestSmallFiles compares the small-file results of fio and mdtest with a store that creates and removes a known number
// of files per second. No file may be left out or counted twice, and no rate may exceed the store's.
func TestSmallFiles(t *testing.T) {
	t.Parallel()
	WithIOR(t)
	const perSecond, files, fileBytes = 400, 400, 4096
	store := Mount(t, model.Config{NamesPerSecond: perSecond})
	document := OnStore(t, store, "data", Write(t, Usual, smallFilesFile))
	target := TargetOf(t, document, "files")
	want := []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationStat, v1alpha1.OperationWrite, v1alpha1.OperationRead, v1alpha1.OperationDelete}
	if len(target.Operations) != len(want) || target.Clients != 2 || !target.WorkBound {
		t.Fatalf("%d clients did %+v", target.Clients, target.Operations)
	}
	for i, operation := range target.Operations {
		checkFileOperation(t, &operation, files)
		bytes := int64(0)
		if operation.Operation.MovesData() {
			bytes = files * fileBytes
		}
		if operation.Operation != want[i] || operation.Bytes != bytes || (operation.BytesPerSecond != nil) != (bytes > 0) {
			t.Errorf("%d: %s of %d bytes, want %s of %d", i, operation.Operation, operation.Bytes, want[i], bytes)
		}
		switch operation.Operation { //nolint:exhaustive // The store sets the pace of these alone.
		case v1alpha1.OperationCreate, v1alpha1.OperationWrite, v1alpha1.OperationDelete:
			notAbove(t, string(operation.Operation), *operation.IOPSMilli, perSecond)
		}
	}
	// Before files are written, the empty files are removed; this is not measured.
	counted := store.Names()
	var sum burstfs.Names
	for _, folder := range []string{"small.0", "small.1"} { // of both clients
		sum.Created += counted[folder].Created
		sum.Removed += counted[folder].Removed
	}
	if sum != (burstfs.Names{Created: 2 * files, Removed: 2 * files}) {
		t.Errorf("the store counts %+v, in %v", sum, counted)
	}
	beside := TargetOf(t, document, "ranks").Mdtest
	if beside == nil {
		t.Fatal("mdtest says nothing")
	}
	for _, rate := range beside.Rates {
		if rate.Operation == "File creation" || rate.Operation == "File removal" {
			notAbove(t, "mdtest's "+rate.Operation, rate.MeanOPSMilli, perSecond)
		}
	}
	Empty(t, store.Path())
}

// checkFileOperation checks that an operation was done and timed once for each file.
func checkFileOperation(t *testing.T, operation *v1alpha1.OperationResult, files int64) {
	t.Helper()
	l := operation.Latency
	rate := operation.IOPSMilli
	if operation.Operations != files || l == nil || l.Samples != files || l.P50Nanoseconds == nil || l.P95Nanoseconds == nil || rate == nil || *rate <= 0 {
		t.Fatalf("%s: %+v, latency %+v", operation.Operation, operation, l)
	}
	if *l.P50Nanoseconds > *l.P95Nanoseconds || *l.P95Nanoseconds > l.MaxNanoseconds || l.MinNanoseconds <= 0 {
		t.Errorf("%s: the latencies are out of order: %+v", operation.Operation, l)
	}
}

// notAbove checks that a rate does not exceed the pace of the store; a slow machine can only lower it. The tolerance is
// for the tools, which count whole milliseconds.
func notAbove(t *testing.T, name string, rateMilli, perSecond int64) {
	t.Helper()
	t.Logf("%s: %d.%03d/s on a store of %d/s", name, rateMilli/1000, rateMilli%1000, perSecond)
	if rateMilli > perSecond*1000*105/100 {
		t.Errorf("%s: %d thousandths a second, and the store has %d", name, rateMilli, perSecond*1000)
	}
}
