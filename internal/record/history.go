package record

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// historyOf returns the state of a target before an attempt, such as its limits, earlier I/O and credits. clients is the
// number of clients that take part in the attempt.
func historyOf(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, planned plan.Step, attempt decide.Attempt, target string, clients int,
) result.History {
	made := result.History{Documented: shareOf(run, limitsOf(run, target), target, int32(clients)), Described: describedOf(run, target)} //nolint:gosec // The API allows far fewer clients.
	for i := range run.Spec.Run.Phases {
		made.SeesEnd = made.SeesEnd || run.Spec.Run.Phases[i].BurstDrain != nil
	}
	made.Loads = demands.Loads(target)
	made.Search = question(run, planned)
	if phase := run.Spec.Run.Phase(planned.Phase); phase != nil {
		made.Expect = phase.Expect
	}
	earlier := earlierIO(run, attempt, target)
	for _, one := range earlier {
		made.Earlier = append(made.Earlier, one.span)
	}
	made.MeasuredRefill, made.MeasuredRefillOperations = measuredRefill(run, planned.Phase, target)
	frozen := resolved(run, planned.ID)
	if bucket := emptiedFor(run, demands, &frozen, target, earlier); bucket != nil {
		made.EmptyAt = bucket.until
	}
	made.BucketEmpty = bucketEmpty(run, planned, attempt, target, &made)
	made.Drained = onBaseline(run.Spec.Run.Phase(planned.Phase)) && lastDrain(run, demands, &frozen, target) != nil
	made.DrainSpent, made.DrainSpentOperations = drainSpent(run, planned.Phase, target)
	bucket, _ := measuredBucket(run, demands, planned.Phase, target)
	made.MeasuredBucket = bucket.Size
	made.CreditPercentAtStart, made.CreditPercentAtEnd, made.Fills = credit(run, demands, planned, attempt, target)
	made.Concluded = concludedAt(run, attempt)
	return made
}

// concludedAt returns the time at which an attempt was ended early because it had measured enough, or zero if it was
// not ended early.
func concludedAt(run *v1alpha1.BenchmarkRun, attempt decide.Attempt) time.Time {
	for i := range run.Status.Steps {
		if fact := &run.Status.Steps[i]; fact.ID == attempt.Step && int(fact.Attempt) == attempt.Number {
			return timeOf(fact.ConcludedTime)
		}
	}
	return time.Time{}
}

// onBaseline reports whether a phase has the regime Baseline. Such a phase measures after a drain has spent the
// credits, either in the phase itself or in the phase before it.
func onBaseline(phase *v1alpha1.Phase) bool {
	if phase == nil {
		return false
	}
	regime := phasekind.Of(phase.Kind()).Regime
	return regime != nil && regime(phase) == v1alpha1.RegimeBaseline
}

// attemptIO is the I/O of one attempt on a target.
type attemptIO struct {
	step v1alpha1.ResolvedStep
	span result.Span
	// repeated is true if a newer attempt has replaced this one. The result of the phase then comes from the newer
	// attempt.
	repeated bool
}

// earlierIO returns all I/O of the run on a target, other than the I/O of the given attempt, in chronological order. It
// includes attempts that were repeated, because they have spent credits too.
func earlierIO(run *v1alpha1.BenchmarkRun, attempt decide.Attempt, target string) []attemptIO {
	var all []attemptIO
	for i := range run.Status.Steps {
		fact := &run.Status.Steps[i]
		if fact.ID == attempt.Step && int(fact.Attempt) == attempt.Number {
			continue
		}
		if io, ok := span(fact, target); ok {
			repeated := newestAttempt(run, fact.ID).Attempt > fact.Attempt
			all = append(all, attemptIO{step: degraded(run, fact.ID, target, io), span: io, repeated: repeated})
		}
	}
	slices.SortStableFunc(all, func(a, b attemptIO) int { return a.span.Start.Compare(b.span.Start) })
	return all
}

// resolved returns the step with the given ID from the plan that is stored in the run, or the zero value if the plan
// has no such step.
func resolved(run *v1alpha1.BenchmarkRun, id string) v1alpha1.ResolvedStep {
	for _, step := range run.Spec.Steps {
		if step.ID == id {
			return step
		}
	}
	return v1alpha1.ResolvedStep{}
}

// degraded returns a step with the number of clients that took part in the given I/O on a target. It subtracts clients
// that were lost in the first half of the I/O, or before, and were not replaced. The I/O includes that of lost clients.
func degraded(run *v1alpha1.BenchmarkRun, id, target string, io result.Span) v1alpha1.ResolvedStep {
	step := resolved(run, id)
	if run.Spec.Run.Clients.OnLoss != v1alpha1.OnLossContinueDegraded {
		return step
	}
	planned, middle := int(step.Clients), io.Start.Add(io.End.Sub(io.Start)/2)
	for index := range planned {
		loss := LossOf(run, decide.ClientKey{Target: target, Index: index})
		if loss != nil && timeOf(loss.Time).Before(middle) {
			step.Clients = max(1, step.Clients-1)
		}
	}
	return step
}

// measuredRefill returns the refill measured by the last redrain (a second drain after idle time) before a phase, in
// bytes and in operations per second. Each value is nil if it was not measured.
func measuredRefill(run *v1alpha1.BenchmarkRun, phase, target string) (bytes, operations *float64) {
	for _, one := range run.Status.Phases {
		if one.Name == phase {
			break
		}
		found := run.Status.Result(one.Name, target)
		if found == nil || found.Burst == nil {
			continue
		}
		bytes = refillOf(found.Burst.Bytes, 1, bytes)
		operations = refillOf(found.Burst.Operations, 1000, operations)
	}
	return bytes, operations
}

// refillOf returns the refill in a drain's series if the drain measured it, otherwise the given earlier refill. It
// divides the measured refill by scale, because the API stores operation rates in thousandths.
func refillOf(series *v1alpha1.BurstSeries, scale float64, before *float64) *float64 {
	if series == nil || series.Refill == nil || series.RefillSource != "Measured" {
		return before
	}
	return new(float64(series.Refill.Value) / scale)
}

// bucketEmpty reports whether it is certain that the target had no credits when the step began or, for a redrain, when
// the preceding pause began. It returns true for storage that is known to have no burst.
func bucketEmpty(
	run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, target string, history *result.History,
) bool {
	if known := limitsOf(run, target); known.KnowsStorage() && !known.Bursts() && !burstOnly(run, target) {
		return true
	}
	end := history.LastEnd()
	empty := !end.IsZero() && history.EmptyAt.Equal(end)
	if planned.Redrain {
		return empty
	}
	// A pause can occur without an Idle step: the run may have loaded only other targets, or a node or the operator may
	// have been unavailable.
	io, loaded := span(step(run, attempt), target)
	paused := loaded && io.Start.Sub(end) > longGap
	return empty && !paused && !idlePrecedes(run, planned, target)
}

// burstOnly reports whether the specification declares a burst rate without a baseline. The burst rate then counts as a
// permanent limit.
func burstOnly(run *v1alpha1.BenchmarkRun, target string) bool {
	at := slices.IndexFunc(run.Spec.Run.Targets, func(t v1alpha1.Target) bool { return t.Name == target })
	if at < 0 {
		return false
	}
	given := run.Spec.Run.Targets[at].DocumentedLimits()
	if given == nil {
		return false
	}
	return slices.ContainsFunc([]*v1alpha1.RateLimits{given.Throughput, given.IOPS}, func(rates *v1alpha1.RateLimits) bool {
		return rates != nil && rates.Burst != nil && rates.Baseline == nil
	})
}

// idlePrecedes reports whether the target's last step before this one is Idle.
func idlePrecedes(run *v1alpha1.BenchmarkRun, planned plan.Step, target string) bool {
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

// drainSpent returns the credits, in bytes and in operations, that a burst drain before the given phase spent. It uses
// the first drain that spent all credits.
func drainSpent(run *v1alpha1.BenchmarkRun, phase, target string) (bytes, operations *result.Spent) {
	for _, one := range run.Status.Phases {
		if one.Name == phase {
			break
		}
		if burst := exhausted(run, one.Name, target); burst != nil && one.Kind == v1alpha1.PhaseBurstDrain {
			return spentOf(burst.Bytes, 1), spentOf(burst.Operations, 1000)
		}
	}
	return nil, nil
}

// spentOf returns the credits that a drain spent up to the last drop in its series. It divides the rates by scale,
// because the API stores operations per second in thousandths. It does not divide the spent amount, which the API
// stores in whole operations or bytes.
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

// Baselines returns, by target, the baseline and the burst that the run's last drain measured, in bytes per second. It
// omits targets without a drain that spent all credits.
func Baselines(run *v1alpha1.BenchmarkRun) map[string]limits.Rates {
	levels := map[string]limits.Rates{}
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			drain := exhausted(run, phase.Name, target.Target)
			if drain == nil || drain.Bytes == nil || drain.Bytes.Baseline == nil || drain.Bytes.Baseline.Value <= 0 {
				continue
			}
			measured := limits.Rates{Baseline: float64(drain.Bytes.Baseline.Value)}
			if burst := drain.Bytes.Burst; burst != nil {
				measured.Burst = float64(burst.Value)
			}
			levels[target.Target] = measured
		}
	}
	return levels
}
