package result

import (
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Headline is the figures of a run that a list of runs shows: those of the last phase that measures,
// of its first target. Of a steady phase it is the operation that moved most; of a burst drain the baseline,
// or the burst where the credits did not run out, without a latency, because there is none of that part alone;
// of a ramp or a sweep the step that moved most. It is nil while there are none.
func Headline(phases []v1alpha1.PhaseResult) *v1alpha1.HeadlineDisplay {
	for i := len(phases) - 1; i >= 0; i-- {
		kind := phases[i].Kind
		if kind == v1alpha1.PhasePrepare || kind == v1alpha1.PhaseCooldown || len(phases[i].Targets) == 0 {
			continue
		}
		if shown := headlineOf(&phases[i].Targets[0]); shown != nil {
			return shown
		}
	}
	return nil
}

func headlineOf(target *v1alpha1.TargetResult) *v1alpha1.HeadlineDisplay {
	switch {
	case len(target.Steps) > 0:
		return headlineOfSteps(target.Steps)
	case target.Burst != nil && target.Burst.Bytes != nil:
		level := target.Burst.Bytes.Baseline
		if level == nil {
			level = target.Burst.Bytes.Burst
		}
		if level == nil {
			return nil
		}
		return headline(level.Value, nil)
	}
	if target.Mdtest != nil && len(target.Mdtest.Rates) > 0 {
		rate := target.Mdtest.Rates[0]
		for _, one := range target.Mdtest.Rates {
			if one.Operation == "File creation" {
				rate = one
			}
		}
		return &v1alpha1.HeadlineDisplay{Throughput: strings.TrimSuffix(measure.FormatOperationsPerSecond(float64(rate.MeanOPSMilli)/1000), " IOPS") +
			" " + rate.Operation + "/s"}
	}
	var most *v1alpha1.OperationResult
	for j := range target.Operations {
		operation := &target.Operations[j]
		if operation.BytesPerSecond != nil && (most == nil || *operation.BytesPerSecond > *most.BytesPerSecond) {
			most = operation
		}
	}
	if most == nil {
		return nil
	}
	if most.Latency == nil {
		return headline(*most.BytesPerSecond, nil)
	}
	return headline(*most.BytesPerSecond, most.Latency.P99Nanoseconds)
}

func headlineOfSteps(steps []v1alpha1.StepResult) *v1alpha1.HeadlineDisplay {
	var most *v1alpha1.StepOperation
	for i := range steps {
		if slices.ContainsFunc(steps[i].Warnings, disqualifies) {
			continue
		}
		for j := range steps[i].Operations {
			operation := &steps[i].Operations[j]
			if operation.BytesPerSecond > 0 && (most == nil || operation.BytesPerSecond > most.BytesPerSecond) {
				most = operation
			}
		}
	}
	if most == nil {
		return nil
	}
	return headline(most.BytesPerSecond, most.P99Nanoseconds)
}

func headline(bytesPerSecond int64, p99Nanoseconds *int64) *v1alpha1.HeadlineDisplay {
	shown := &v1alpha1.HeadlineDisplay{Throughput: measure.FormatBytesPerSecond(float64(bytesPerSecond))}
	if p99Nanoseconds != nil {
		shown.P99 = measure.FormatLatency(uint64(max(*p99Nanoseconds, 0)))
	}
	return shown
}
