package record

import (
	"reflect"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

const (
	// keepsEmpty is the minimum rate, as a fraction of the baseline, at which a load prevents an empty bucket from
	// refilling.
	keepsEmpty = 0.9
	// longGap is the longest pause after which an empty bucket still counts as empty, because it refills too little.
	longGap = 30 * time.Second
)

// emptied is a bucket whose credits a drain has spent.
type emptied struct {
	// burst is the drain's result, workload its workload, and load the load that it generated.
	burst    *v1alpha1.BurstResult
	workload *v1alpha1.Workload
	load     limits.Load
	// until is the end of the last I/O after which the bucket was certainly empty.
	until time.Time
}

// emptiedFor returns the bucket that the last drain emptied. It returns nil if no drain has spent the credits, or if
// the given step may spend the credits of another bucket. Like any other load, a drain that finds no credits can keep
// an empty bucket empty.
func emptiedFor(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, step *v1alpha1.ResolvedStep, target string,
	earlier []attemptIO,
) *emptied {
	var last *emptied
	var end time.Time
	for _, one := range earlier {
		burst := one.exhausted(run, target)
		switch {
		case burst != nil:
			demand, _ := demands.Of(&one.step, target)
			workload := workloadOf(run, &one.step, target)
			last = &emptied{burst: burst, workload: workload, load: demand.Load, until: one.span.End}
		case last != nil && last.until.Equal(end) && one.leavesEmpty(end, last.baseline()):
			last.until = one.span.End
		}
		end = one.span.End
	}
	demand, _ := demands.Of(step, target)
	if last == nil || !last.paysFor(workloadOf(run, step, target), demand.Load, limitsOf(run, target)) {
		return nil
	}
	return last
}

func workloadOf(run *v1alpha1.BenchmarkRun, step *v1alpha1.ResolvedStep, target string) *v1alpha1.Workload {
	return run.Spec.Run.WorkloadOf(run.Spec.Run.Phase(step.Phase), target)
}

// lastDrain returns the bucket of a step if it was certainly empty at the end of the last drain, otherwise nil. Credits
// may have come back since then.
func lastDrain(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, step *v1alpha1.ResolvedStep, target string,
) *emptied {
	earlier := earlierIO(run, decide.Attempt{}, target)
	for len(earlier) > 0 && !earlier[len(earlier)-1].drains() {
		earlier = earlier[:len(earlier)-1]
	}
	last := emptiedFor(run, demands, step, target, earlier)
	if last == nil || !last.until.Equal(earlier[len(earlier)-1].span.End) {
		return nil
	}
	return last
}

// paysFor reports whether a load can spend the credits of this bucket only. This is certain for a load with the drain's
// block size. A load with another block size may spend operation credits where the drain spent byte credits, or vice
// versa, so paysFor consults the documented limits or, if there are none, the dimension of the spent credits.
func (e *emptied) paysFor(workload *v1alpha1.Workload, load limits.Load, known limits.Computed) bool {
	// The block size is 0 if a load uses several block sizes. In that case, compare the workloads.
	if load.BlockBytes == e.load.BlockBytes && (load.BlockBytes > 0 || reflect.DeepEqual(workload, e.workload)) {
		return true
	}
	names := result.EmptiedBy(known, e.burst)
	if len(names) == 0 {
		return e.burst.Dimension != "Unknown"
	}
	// While the bucket is empty, its baseline may be too low for the load to spend the credits of another limit.
	return len(known.Emptied(names).Spends(load)) == 0
}

// baseline returns the rates that keep the bucket empty. If it is known whether bytes or operations ran out, the rate
// of the other dimension is 0. Otherwise, a load must reach both rates to keep the bucket empty.
func (e *emptied) baseline() (made limits.Rate) {
	if bytes := e.burst.Bytes; bytes != nil && bytes.Baseline != nil && e.burst.Dimension != "Operations" {
		made.BytesPerSecond = float64(bytes.Baseline.Value)
	}
	if operations := e.burst.Operations; operations != nil && operations.Baseline != nil && e.burst.Dimension != "Bytes" {
		made.OperationsPerSecond = float64(operations.Baseline.Value) / 1000
	}
	return made
}

// drains reports whether the attempt is a drain whose result counts.
func (a attemptIO) drains() bool { return a.step.Purpose == v1alpha1.StepDrain && !a.repeated }

// exhausted returns the result of the attempt if it is a drain that spent the credits, otherwise nil.
func (a attemptIO) exhausted(run *v1alpha1.BenchmarkRun, target string) *v1alpha1.BurstResult {
	if !a.drains() {
		return nil
	}
	return exhausted(run, a.step.Phase, target)
}

// exhausted returns the result of the drain of a phase if it spent the credits, otherwise nil.
func exhausted(run *v1alpha1.BenchmarkRun, phase, target string) *v1alpha1.BurstResult {
	found := run.Status.Result(phase, target)
	if found == nil || found.Burst == nil || !found.Burst.Exhausted {
		return nil
	}
	return found.Burst
}

// leavesEmpty reports whether this I/O left a bucket empty that was empty at the given end of the previous I/O. This
// requires that no long pause preceded the I/O and that its rate was not clearly below the baseline.
func (a attemptIO) leavesEmpty(end time.Time, baseline limits.Rate) bool {
	seconds := a.span.End.Sub(a.span.Start).Seconds()
	return seconds > 0 && a.span.Start.Sub(end) <= longGap &&
		float64(a.span.Bytes) >= keepsEmpty*baseline.BytesPerSecond*seconds &&
		float64(a.span.Operations) >= keepsEmpty*baseline.OperationsPerSecond*seconds
}
