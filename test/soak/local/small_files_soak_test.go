package local_test

import (
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/local"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/standinior"
)

const filesBesideMdtest = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: beside}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}], dataPolicy: Delete}]
    clients: {count: 2, spread: Any, processesPerClient: 2}
    workload: {fio: {pattern: Sequential, readPercent: 0, blockSize: 4Ki, jobs: 2, filesPerJob: 100, datasetSize: 800Ki, direct: false}}
    phases:
    - {name: before, smallFiles: {operations: [Create, Stat, Delete]}}
    - {name: ranks, steady: {duration: 15m}, workload: {mdtest: {filesPerProcess: 100, filesOnly: true, uniqueDirectories: true, iterations: 5}}}
    - {name: after, smallFiles: {operations: [Create, Stat, Delete]}}
`

// TestSmallFilesBesideMdtest compares fio's rates of small files with those of the real mdtest, on a store that creates
// and removes a known number of files per second. It runs fio before and after mdtest, and uses the higher rate,
// because a busy machine only lowers rates. This rate must lie within the range of mdtest's five iterations, widened by
// 1 % for the start of processes, and within 2 % of the store's. mdtest is the control: if its best iteration is more
// than 2 % slower than the store, the machine was the limit. Stat rates are only reported: the clients have just
// created the files, so stats do not reach the storage. It takes about five minutes.
func TestSmallFilesBesideMdtest(t *testing.T) {
	soak.Only(t)
	if !standinior.Real() {
		t.Skip("it needs the real programs: set IOR_BINARY and MDTEST_BINARY")
	}
	local.WithIOR(t)
	const perSecond, start, margin = 20.0, 0.01, 0.02
	store := local.Mount(t, model.Config{NamesPerSecond: perSecond})
	got := local.Start(t, "run", "--local", "-f", local.Write(t, local.Usual, filesBesideMdtest), "--target", "data="+store.Path(), "-o", "json").WaitFor(t, time.Hour)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	document := got.Document(t)
	ranks := local.TargetOf(t, document, "ranks").Mdtest
	if ranks == nil {
		t.Fatal("mdtest has no result")
	}
	slow := false
	for _, one := range []struct {
		operation v1alpha1.Operation
		name      string
	}{{v1alpha1.OperationCreate, "File creation"}, {v1alpha1.OperationStat, "File stat"}, {v1alpha1.OperationDelete, "File removal"}} {
		at := slices.IndexFunc(ranks.Rates, func(r v1alpha1.MdtestRate) bool { return r.Operation == one.name })
		if at < 0 {
			t.Fatalf("mdtest has no rate of %s: %+v", one.name, ranks.Rates)
		}
		beside := ranks.Rates[at]
		least, mean, most := float64(beside.MinOPSMilli)/1000, float64(beside.MeanOPSMilli)/1000, float64(beside.MaxOPSMilli)/1000
		before, after := rateOf(t, local.TargetOf(t, document, "before"), one.operation), rateOf(t, local.TargetOf(t, document, "after"), one.operation)
		soak.Report(t, "Small files by fio and by mdtest", "%s: fio %.1f/s and %.1f/s, mdtest %.1f/s (%.1f to %.1f), the store %g/s",
			one.operation, before, after, mean, least, most, perSecond)
		rate := max(before, after)
		switch {
		case one.operation == v1alpha1.OperationStat:
		case most < perSecond*(1-margin):
			slow = true
		case rate < least*(1-start) || rate > most*(1+start):
			t.Errorf("%s: fio has %.1f/s, and mdtest %.1f to %.1f", one.operation, rate, least, most)
		case rate < perSecond*(1-margin) || rate > perSecond*(1+margin):
			t.Errorf("%s: %.1f/s, and the store has %g", one.operation, rate, perSecond)
		}
	}
	if slow && !t.Failed() {
		soak.Inconclusive(t, "the best iteration of mdtest is slower than the store by more than 2 %%: the machine was the limit")
	}
}

func rateOf(t *testing.T, target v1alpha1.TargetResult, operation v1alpha1.Operation) float64 {
	t.Helper()
	for _, o := range target.Operations {
		if o.Operation == operation && o.IOPSMilli != nil {
			return float64(*o.IOPSMilli) / 1000
		}
	}
	t.Fatalf("%s was not measured: %+v", operation, target.Operations)
	return 0
}
