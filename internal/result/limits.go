package result

import (
	"cmp"
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
)

// documented holds the documented baseline, burst and refill of one dimension (bytes or operations), per second, and
// the size of its bucket. A value is 0 if it is not documented.
type documented struct {
	baseline, burst, bucket, refill float64
	// refillsAtBaseline is true if no refill is documented, or if the documented refill equals the baseline.
	refillsAtBaseline bool
}

// documentedOf returns the documented baseline, burst, refill and bucket, in bytes or in operations, for the load of a
// step. If the refill is not documented, the baseline takes its place.
func documentedOf(history *History, step *plan.Step, target string, d dimension) documented {
	demand, _ := step.Demand(target)
	of := limits.Bytes
	if d == inOperations {
		of = limits.Operations
	}
	rates := history.Documented.Rates(demand.Load, of)
	return documented{baseline: rates.Baseline, burst: rates.Burst, bucket: rates.Bucket, refill: cmp.Or(rates.Refill, rates.Baseline),
		refillsAtBaseline: rates.RefillsAtBaseline()}
}

// documented returns the documented rates and bucket, in bytes or in operations, for the load of the drain.
func (d *drain) documented(one dimension) documented {
	return documentedOf(&d.b.history, &d.b.step, d.b.result.Target, one)
}

// EmptiedBy returns the names of the limits whose credits a drain used up: the limits that allow bursts and whose
// baseline agrees with the level after the last drop. A limit without a published bucket is named only if no limit with
// a bucket agrees. EmptiedBy returns nil if no documented baseline agrees.
func EmptiedBy(of limits.Computed, burst *v1alpha1.BurstResult) []string {
	if burst == nil || !burst.Exhausted {
		return nil
	}
	var names, unpublished []string
	for _, limit := range of.Limits {
		series, scale := burst.Bytes, 1.0
		if limit.Dimension == limits.Operations {
			series, scale = burst.Operations, 1000
		}
		if limit.Burst <= 0 || series == nil || series.Baseline == nil || series.Burst == nil {
			continue
		}
		level := float64(series.Baseline.Value) / scale
		if within(level, limit.Baseline, sameLevel) && float64(series.Burst.Value)/scale > limit.Baseline {
			if limit.Bucket > 0 {
				names = append(names, limit.Name)
			} else {
				unpublished = append(unpublished, limit.Name)
			}
		}
	}
	if len(names) == 0 {
		return unpublished
	}
	return names
}

// within reports whether value differs from the documented value by at most the given share of the documented value.
func within(value, of, share float64) bool { return of > 0 && math.Abs(value-of) <= share*of }
