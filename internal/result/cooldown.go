package result

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// Cooldown returns the result of an Idle step on one target, given the instants at which the step started and ended. If
// a redrain (a second drain) follows the idle time, Fold adds the figures of the redrain.
func Cooldown(step plan.Step, target string, history History, start, end time.Time) v1alpha1.TargetResult {
	made := v1alpha1.CooldownResult{CreditPercentAtEnd: history.CreditPercentAtEnd}
	since := history.LastEnd()
	known := !since.IsZero()
	if !known {
		since = start
	}
	idle := max(end.Sub(since), 0)
	made.IdleNanoseconds = idle.Nanoseconds()
	says := []string{"no load for " + duration(idle.Seconds())}
	if !known {
		says = append(says, "the target was not loaded before")
	}
	if step.UntilCreditsPercent > 0 {
		made.WantedPercent = new(int32(min(step.UntilCreditsPercent, 100)))
		says = append(says, untilCredits(step, history))
	}
	if made.CreditPercentAtEnd == nil && step.UntilCreditsPercent == 0 {
		says = append(says, "the fill level of the bucket at the end is unknown")
	}
	made.Message = v1alpha1.Truncate(strings.Join(says, "; "), maxBurstMessage)
	return v1alpha1.TargetResult{Target: target, Cooldown: &made}
}

// untilCredits explains how long the cooldown waited for credits, and why. The pause is the same for all targets.
func untilCredits(step plan.Step, history History) string {
	bucket, dimension := history.main()
	refill, from := bucket.refill, "documented"
	if measured, known := history.measuredRefill(dimension); known {
		refill, from = measured, "measured"
	}
	size, sizeFrom := bucket.bucket, "documented"
	if size == 0 {
		size, sizeFrom, dimension = history.MeasuredBucket, "drained", inBytes
	}
	why := ""
	switch {
	case refill <= 0:
		why = "no refill is documented or measured"
	case size <= 0:
		why = "its size is neither documented nor measured by a drain"
	}
	if why != "" {
		return fmt.Sprintf("cannot determine when the bucket is %d %% full, because %s: "+
			"waited for maxDuration, or not at all if maxDuration is not set", step.UntilCreditsPercent, why)
	}
	format := measure.FormatBytesPerSecond
	if dimension == inOperations {
		format = measure.FormatOperationsPerSecond
	}
	says, why := "waited for", ""
	if end := history.CreditPercentAtEnd; end != nil && int(*end) < step.UntilCreditsPercent {
		says, why = "did not wait for", ": maxDuration ended the pause, or the bucket of another target is unknown"
	}
	return fmt.Sprintf("%s %d %% of the %s bucket of %s to refill, at the %s rate of %s%s", says, step.UntilCreditsPercent,
		sizeFrom, amountText(dimension, size), from, format(refill), why)
}

// measuredRefill returns the refill rate that an earlier redrain (a second drain after idle time) measured; known is
// false if none did.
func (h *History) measuredRefill(one dimension) (rate float64, known bool) {
	measured := h.MeasuredRefill
	if one == inOperations {
		measured = h.MeasuredRefillOperations
	}
	if measured != nil && *measured > 0 && *measured <= maxRate {
		return *measured, true
	}
	return 0, false
}

// drainSpent returns the credits spent by the first burst drain whose credits ran out, or nil if they were not
// measured.
func (h *History) drainSpent(one dimension) *Spent {
	if one == inOperations {
		return h.DrainSpentOperations
	}
	return h.DrainSpent
}

// main returns the documented rates of the bucket that the run's loads empty first, and whether its credits count bytes
// or operations. It uses the first load for which such a bucket is known. If there is no such load, it returns no rates:
// without a bucket, the documented baseline is not a refill.
func (h *History) main() (documented, dimension) {
	for _, load := range append(slices.Clone(h.Loads), limits.Load{}) {
		if found, ok := h.Documented.Main(load); ok {
			one := inBytes
			if found.Limit.Dimension == limits.Operations {
				one = inOperations
			}
			return documented{baseline: found.Baseline, burst: found.Burst, bucket: found.Size, refill: found.Refill}, one
		}
	}
	return documented{}, inBytes
}
