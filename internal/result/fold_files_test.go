package result_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// fileFold returns a step of a smallFiles phase with its result: a rate in thousandths and a window in seconds.
func fileFold(operation v1alpha1.Operation, rateMilli, seconds int64, warnings ...v1alpha1.Warning) foldedStep {
	return foldedStep{
		plan.Step{Phase: "files", Kind: v1alpha1.PhaseSmallFiles, Purpose: plan.Measure, Cell: -1, Overrides: plan.Overrides{Operation: operation}},
		v1alpha1.TargetResult{Target: "data", Clients: 2, WindowNanoseconds: seconds * 1e9, WorkBound: true, Warnings: warnings, Operations: []v1alpha1.OperationResult{
			{Operation: operation, Operations: 100, IOPSMilli: &rateMilli, Latency: &v1alpha1.LatencyResult{Samples: 100, MeanNanoseconds: 5e6}}}},
	}
}

// TestFoldFiles checks that each step adds its operation, in order, and that folding a step again changes nothing.
func TestFoldFiles(t *testing.T) {
	t.Parallel()
	phase := &v1alpha1.Phase{Name: "files", SmallFiles: &v1alpha1.SmallFilesPhase{}}
	skew := func() v1alpha1.Warning {
		return warned(v1alpha1.WarningStartSkew, v1alpha1.PhaseSmallFiles, "the clients' first I/O was up to 2s apart", 1)
	}
	steps := func() []foldedStep {
		return []foldedStep{
			fileFold(v1alpha1.OperationCreate, 4000, 3), fileFold(v1alpha1.OperationStat, 90_000, 1, skew()),
			fileFold(v1alpha1.OperationDelete, 5000, 2, skew()),
		}
	}
	once := foldAll(phase, steps())
	if len(once.Operations) != 3 || once.Operations[0].Operation != v1alpha1.OperationCreate || *once.Operations[2].IOPSMilli != 5000 ||
		once.Operations[1].Latency.Samples != 100 {
		t.Errorf("operations %+v", once.Operations)
	}
	if once.Target != "data" || once.Clients != 2 || !once.WorkBound || once.WindowNanoseconds != 3e9 || len(once.Steps) > 0 {
		t.Errorf("%+v", once)
	}
	const late = "the clients' first I/O was up to 2s apart"
	if len(once.Warnings) != 1 || once.Warnings[0].Message != "stat, delete: "+late {
		t.Errorf("warnings %+v", once.Warnings)
	}
	var twice []foldedStep
	for _, one := range steps() {
		twice = append(twice, one, one)
	}
	if difference := cmp.Diff(once, foldAll(phase, twice)); difference != "" {
		t.Error(difference)
	}
}

// TestCachedStats checks that the page cache is suspected if stats are as fast as memory.
func TestCachedStats(t *testing.T) {
	t.Parallel()
	workload := builders.Fio().Dataset("1Mi").Mutate(func(p *v1alpha1.FioProfile) { p.QueueDepth = nil }).Engine()
	step := plan.Step{
		ID: "00-001-files-stat", Phase: "files", Kind: v1alpha1.PhaseSmallFiles, Purpose: plan.Measure, Targets: []string{"data"}, Clients: 1, Cell: -1,
		Workloads: map[string]*v1alpha1.Engine{"data": &workload}, Overrides: plan.Overrides{Operation: v1alpha1.OperationStat},
	}
	for latency, cached := range map[time.Duration]bool{2 * time.Microsecond: true, 200 * time.Microsecond: false} {
		client := builders.Client("data", 0).Does(3, measure.Stat, builders.Counter(700, 0), latency).Obj()
		made := result.Target(step, "data", []result.Client{client}, result.History{})
		suspected := slices.ContainsFunc(made.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningPageCacheSuspected })
		if suspected != cached {
			t.Errorf("stats of %s: suspected is %t, want %t: %+v", latency, suspected, cached, made.Warnings)
		}
		if one := made.Operations; len(one) != 1 || one[0].Operation != v1alpha1.OperationStat || one[0].Operations != 2100 || one[0].BytesPerSecond != nil {
			t.Errorf("operations %+v", one)
		}
	}
}
