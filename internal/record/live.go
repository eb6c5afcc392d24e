package record

import (
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// maxPoints is the API's limit for status.live.points.
const maxPoints = 48

// Live records the live figures of the running step.
func Live(run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, doing []result.Doing, now time.Time) {
	live := &v1alpha1.LiveFigures{Step: planned.ID, Time: *micro(now)}
	var done result.Doing
	var rates [measure.NumOperations]result.DoingRate
	demands := plan.NewDemandModel(&run.Spec.Run)
	for i := range doing {
		one := &doing[i]
		live.Clients += int32(one.Clients) //nolint:gosec // The API allows far fewer clients.
		target := v1alpha1.LiveTarget{Target: one.Target}
		for operation := range one.Rates {
			rates[operation].Add(one.Rates[operation])
			target.BytesPerSecond += rounded(one.Rates[operation].BytesPerSecond)
		}
		target.CreditPercent = currentFillPercent(run, demands, planned, attempt, one, now)
		if slices.Contains(planned.Targets, one.Target) {
			live.Targets = append(live.Targets, target)
		}
		if one.UntilNanoseconds != 0 {
			done.Extend(one.SinceNanoseconds, one.UntilNanoseconds, one.Done)
		}
	}
	for _, operation := range measure.Operations {
		rate := &rates[operation]
		if rate.OperationsPerSecond == 0 && rate.BytesPerSecond == 0 {
			continue
		}
		shown := v1alpha1.LiveOperation{Operation: v1alpha1.Operation(operation.String()),
			BytesPerSecond: rounded(rate.BytesPerSecond), OperationsPerSecond: rounded(rate.OperationsPerSecond)}
		if mean := rounded(rate.MeanNanoseconds()); mean > 0 {
			shown.MeanNanoseconds = &mean
		}
		live.Operations = append(live.Operations, shown)
	}
	if before := run.Status.Live; before != nil && before.Step == planned.ID {
		live.Points = before.Points
	}
	live.Points = withPoint(live.Points, step(run, attempt), &done)
	run.Status.Live = live
}

// withPoint appends the current totals. The first point marks the start of the I/O, with totals of 0. If there are too
// many points, withPoint drops every second point, so that the remaining ones still cover the whole step. The times of
// the points never decrease, even if the estimate of an agent's clock changes.
func withPoint(points []v1alpha1.LivePoint, fact *v1alpha1.StepStatus, done *result.Doing) []v1alpha1.LivePoint {
	if done.UntilNanoseconds == 0 || fact.StartTime == nil {
		return points
	}
	start := fact.StartTime.UnixNano()
	point := v1alpha1.LivePoint{
		Milliseconds: (done.UntilNanoseconds - start) / 1e6,
		Bytes:        measure.Clamp(done.Done.Bytes),
		Operations:   measure.Clamp(done.Done.Operations),
	}
	if len(points) == 0 {
		points = []v1alpha1.LivePoint{{Milliseconds: max(0, (done.SinceNanoseconds-start)/1e6)}}
	}
	last := points[len(points)-1]
	if point.Milliseconds <= last.Milliseconds || point.Bytes < last.Bytes || point.Operations < last.Operations {
		if point.Bytes < last.Bytes {
			return nil // a new attempt has begun: its totals restart from 0, so discard the old points
		}
		return points
	}
	kept := append([]v1alpha1.LivePoint{}, points...)
	if len(kept) >= maxPoints {
		kept = kept[:0]
		for i := 0; i < len(points); i += 2 {
			kept = append(kept, points[i])
		}
	} else if n := len(kept); n >= 3 && 4*(last.Milliseconds-kept[n-2].Milliseconds) < 3*(kept[n-2].Milliseconds-kept[0].Milliseconds)/int64(n-2) {
		// The last point is closer to its predecessor than the earlier points are to one another, so the new point
		// replaces it.
		kept = kept[:n-1]
	}
	return append(kept, point)
}

// currentFillPercent returns the current estimated fill level of a target's emptiest bucket, in percent, or nil if it
// is unknown.
func currentFillPercent(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, planned plan.Step, attempt decide.Attempt, one *result.Doing,
	now time.Time,
) *int32 {
	a, last, ok := account(run, demands, planned.Phase, one.Target, attempt)
	if !ok {
		return nil
	}
	if one.UntilNanoseconds == 0 || planned.Purpose == plan.Idle {
		idle(a, last, now)
		return percentOf(a)
	}
	since, until := time.Unix(0, one.SinceNanoseconds), time.Unix(0, one.UntilNanoseconds)
	idle(a, last, since)
	span := result.Span{Start: since, End: until, Bytes: one.Done.Bytes, Operations: one.Done.Operations}
	spend(run, demands, a, attemptIO{step: degraded(run, planned.ID, one.Target, span), span: span}, one.Target)
	return percentOf(a)
}

func rounded(value float64) int64 { return int64(math.Round(min(value, math.MaxInt64/2))) }
