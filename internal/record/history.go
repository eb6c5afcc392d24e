package record

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

const (
	// keepsEmpty is the share of the baseline at which a load keeps a spent bucket from filling.
	keepsEmpty = 0.9
	// longGap is a pause in which a spent bucket fills noticeably.
	longGap = 30 * time.Second
)

// historyOf is what the facts say of a target before an attempt.
func historyOf(run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, target string) result.History {
	made := result.History{Documented: shareOf(run, promised(run, target), target, int32(planned.Clients)), Described: describedOf(run, target)} //nolint:gosec // The API allows far fewer clients.
	for i := range run.Spec.Run.Phases {
		made.SeesEnd = made.SeesEnd || run.Spec.Run.Phases[i].BurstDrain != nil
	}
	made.Loads = plan.NewDemandModel(&run.Spec.Run).Loads(target)
	if phase := phaseOf(run, planned.Phase); phase != nil {
		made.Expect = phase.Expect
	}
	earlier := earlierIO(run, attempt, target)
	for _, one := range earlier {
		made.Earlier = append(made.Earlier, one.span)
	}
	made.MeasuredRefill, made.MeasuredRefillOperations = measuredRefill(run, planned.Phase, target)
	made.BucketEmpty = bucketEmpty(run, planned, target, earlier)
	made.DrainSpent, made.DrainSpentOperations = drainSpent(run, planned.Phase, target)
	made.CreditPercentAtStart, made.CreditPercentAtEnd = credit(run, planned, attempt, target)
	for i := range run.Status.Steps {
		if fact := &run.Status.Steps[i]; fact.ID == attempt.Step && int(fact.Attempt) == attempt.Number {
			made.Concluded = timeOf(fact.ConcludedTime)
		}
	}
	return made
}

// done is the I/O of an earlier attempt.
type done struct {
	step v1alpha1.ResolvedStep
	span result.Span
}

// earlierIO is all I/O of the run on a target but that of one attempt, in order of time: attempts that
// were repeated have spent credits too.
func earlierIO(run *v1alpha1.BenchmarkRun, attempt decide.Attempt, target string) []done {
	var all []done
	for i := range run.Status.Steps {
		fact := &run.Status.Steps[i]
		if fact.ID == attempt.Step && int(fact.Attempt) == attempt.Number {
			continue
		}
		if io, ok := span(fact, target); ok {
			all = append(all, done{step: resolved(run, fact.ID), span: io})
		}
	}
	slices.SortStableFunc(all, func(a, b done) int { return a.span.Start.Compare(b.span.Start) })
	return all
}

// resolved is the frozen step of that ID.
func resolved(run *v1alpha1.BenchmarkRun, id string) v1alpha1.ResolvedStep {
	for _, step := range run.Spec.Steps {
		if step.ID == id {
			return step
		}
	}
	return v1alpha1.ResolvedStep{}
}

// resultOf is what a phase found on a target; nil when it has no result.
func resultOf(run *v1alpha1.BenchmarkRun, phase, target string) *v1alpha1.TargetResult {
	for i := range run.Status.Phases {
		if run.Status.Phases[i].Name != phase {
			continue
		}
		for j := range run.Status.Phases[i].Targets {
			if found := &run.Status.Phases[i].Targets[j]; found.Target == target {
				return found
			}
		}
	}
	return nil
}

// measuredRefill is that of the newest redrain before a phase, in bytes and in operations a second.
func measuredRefill(run *v1alpha1.BenchmarkRun, phase, target string) (bytes, operations *float64) {
	for _, one := range run.Status.Phases {
		if one.Name == phase {
			break
		}
		found := resultOf(run, one.Name, target)
		if found == nil || found.Burst == nil {
			continue
		}
		bytes = refillOf(found.Burst.Bytes, 1, bytes)
		operations = refillOf(found.Burst.Operations, 1000, operations)
	}
	return bytes, operations
}

// refillOf is a measured refill in whole units, or the one that was known before.
func refillOf(series *v1alpha1.BurstSeries, scale float64, before *float64) *float64 {
	if series == nil || series.Refill == nil || series.RefillSource != "Measured" {
		return before
	}
	value := float64(series.Refill.Value) / scale
	return &value
}

// bucketEmpty reports whether the credits were spent for certain when the step began; of the drain that
// measures a refill, when the pause before it began.
func bucketEmpty(run *v1alpha1.BenchmarkRun, planned plan.Step, target string, earlier []done) bool {
	if known := promised(run, target); known.KnowsStorage() && !known.Bursts() && !burstAlone(run, target) {
		return true
	}
	empty, baseline := false, 0.0
	var end time.Time
	for _, one := range earlier {
		seconds := one.span.End.Sub(one.span.Start).Seconds()
		switch {
		case one.step.Purpose == v1alpha1.StepDrain:
			empty, baseline = drained(run, one.step.Phase, target)
		case one.span.Start.Sub(end) > longGap, seconds <= 0, float64(one.span.Bytes)/seconds < keepsEmpty*baseline:
			empty = false
		}
		end = one.span.End
	}
	return empty && !idled(run, planned, target)
}

// burstAlone reports whether a specification gives a burst without a baseline, which is then taken for a limit that holds.
func burstAlone(run *v1alpha1.BenchmarkRun, target string) bool {
	at := slices.IndexFunc(run.Spec.Run.Targets, func(t v1alpha1.Target) bool { return t.Name == target })
	if at < 0 || run.Spec.Run.Targets[at].Limits == nil {
		return false
	}
	given := run.Spec.Run.Targets[at].Limits
	for _, rates := range []*v1alpha1.RateLimits{given.Throughput, given.IOPS} {
		if rates != nil && rates.Burst != nil && rates.Baseline == nil {
			return true
		}
	}
	return false
}

// drained reports whether a phase has spent the credits, and at what baseline, in bytes a second.
func drained(run *v1alpha1.BenchmarkRun, phase, target string) (empty bool, baseline float64) {
	found := resultOf(run, phase, target)
	if found == nil || found.Burst == nil || !found.Burst.Exhausted {
		return false, 0
	}
	if found.Burst.Bytes != nil && found.Burst.Bytes.Baseline != nil {
		baseline = float64(found.Burst.Bytes.Baseline.Value)
	}
	return true, baseline
}

// idled reports whether nothing was loaded for a planned time between the I/O before a step and the step.
func idled(run *v1alpha1.BenchmarkRun, planned plan.Step, target string) bool {
	if planned.Redrain {
		return false
	}
	idle := false
	for _, step := range run.Spec.Steps {
		switch {
		case step.ID == planned.ID:
			return idle
		case !slices.Contains(step.Targets, target):
		default:
			idle = step.Purpose == v1alpha1.StepIdle
		}
	}
	return idle
}

// drainSpent is what the first burst drain before a phase has spent, in bytes and in operations.
func drainSpent(run *v1alpha1.BenchmarkRun, phase, target string) (bytes, operations *result.Spent) {
	for _, one := range run.Status.Phases {
		if one.Name == phase {
			break
		}
		if found := resultOf(run, one.Name, target); one.Kind == v1alpha1.PhaseBurstDrain && found != nil && found.Burst != nil {
			return spentOf(found.Burst.Bytes, 1), spentOf(found.Burst.Operations, 1000)
		}
	}
	return nil, nil
}

// spentOf is what a series has spent at its last drop. scale is of rates only: amounts are whole.
func spentOf(series *v1alpha1.BurstSeries, scale float64) *result.Spent {
	if series == nil || len(series.Drops) == 0 || series.Refill == nil {
		return nil
	}
	last := series.Drops[len(series.Drops)-1]
	if last.Spent == nil {
		return nil
	}
	return &result.Spent{
		Amount:   float64(last.Spent.Value),
		Refill:   float64(series.Refill.Value) / scale,
		Burst:    float64(last.Before.Value) / scale,
		Baseline: float64(last.After.Value) / scale,
	}
}

// Baselines are, by target, the levels in bytes a second on which the newest drains of the run have ended;
// of targets without one there is none.
func Baselines(run *v1alpha1.BenchmarkRun) map[string]float64 {
	levels := map[string]float64{}
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			if empty, baseline := drained(run, phase.Name, target.Target); empty && baseline > 0 {
				levels[target.Target] = baseline
			}
		}
	}
	return levels
}
