package phasekind

import (
	"iter"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// smallBlock is the operation size in bytes below which IOPS and mean latency are main figures in addition to
// throughput.
const smallBlock = 64 << 10

// Operations returns the rates and latencies of each operation.
func Operations(result *v1alpha1.TargetResult) []Figure {
	var all []Figure
	for i := range result.Operations {
		o := &result.Operations[i]
		name := string(o.Operation)
		// Throughput is a main figure only for operations that move data. Syncs, for example, move none.
		measured := o.BytesPerSecond != nil && (o.Bytes > 0 || *o.BytesPerSecond > 0)
		small := measured && o.IOPSMilli != nil && result.Command == nil && o.Operations > 0 && o.Bytes/o.Operations < smallBlock && *o.IOPSMilli > 0
		if o.BytesPerSecond != nil {
			all = append(all, Figure{Name: v1alpha1.FigureThroughput, Operation: name, Estimate: rate(*o.BytesPerSecond, o.RateErrorPPM), Main: measured})
		}
		if o.IOPSMilli != nil {
			all = append(all, Figure{Name: v1alpha1.FigureIOPS, Operation: name, Estimate: rate(*o.IOPSMilli, o.RateErrorPPM), Main: small})
		}
		if o.Latency == nil {
			continue
		}
		all = append(all, Figure{Name: v1alpha1.FigureMeanLatency, Operation: name, Estimate: v1alpha1.Estimate{Value: o.Latency.MeanNanoseconds}, Main: small})
		for _, percentile := range []struct {
			name  v1alpha1.FigureName
			value *int64
		}{
			{v1alpha1.FigureP50Latency, o.Latency.P50Nanoseconds}, {v1alpha1.FigureP95Latency, o.Latency.P95Nanoseconds},
			{v1alpha1.FigureP99Latency, o.Latency.P99Nanoseconds}, {v1alpha1.FigureP999Latency, o.Latency.P999Nanoseconds},
		} {
			if percentile.value != nil {
				all = append(all, Figure{Name: percentile.name, Operation: name, Estimate: v1alpha1.Estimate{Value: *percentile.value}})
			}
		}
	}
	return all
}

// Drained reports whether a result's operations come from a drain whose credits ran out. The means of such operations
// mix burst and baseline. Drained returns false for a phase with steps, because its operations were measured after the
// drain.
func Drained(result *v1alpha1.TargetResult) bool {
	return result.Burst != nil && result.Burst.Exhausted && len(result.Steps) == 0
}

// Rates returns the rates and latencies of each operation of a result. If a drain's credits ran out, these figures
// would mix burst and baseline. Rates then returns only the baseline, without latencies, or nothing if several
// operations share the baseline.
func Rates(result *v1alpha1.TargetResult) []v1alpha1.OperationResult {
	if !Drained(result) {
		return result.Operations
	}
	var loads []v1alpha1.OperationResult
	for i := range result.Operations {
		if o := &result.Operations[i]; o.BytesPerSecond != nil && o.Bytes > 0 {
			loads = append(loads, v1alpha1.OperationResult{Operation: o.Operation})
		}
	}
	if len(loads) != 1 {
		return nil
	}
	if bytes := result.Burst.Bytes; bytes != nil && bytes.Baseline != nil {
		loads[0].BytesPerSecond = &bytes.Baseline.Value
	}
	if operations := result.Burst.Operations; operations != nil && operations.Baseline != nil {
		loads[0].IOPSMilli = &operations.Baseline.Value
	}
	return loads
}

// rate returns a rate with its interval. errorPPM is half the width of the interval, in millionths of the rate; nil if
// it is unknown.
func rate(value int64, errorPPM *int64) v1alpha1.Estimate {
	made := v1alpha1.Estimate{Value: value}
	if errorPPM != nil && *errorPPM >= 0 {
		half := int64(float64(value) * float64(*errorPPM) / 1e6)
		made.Lower, made.Upper = new(max(value-half, 0)), new(value+half)
	}
	return made
}

// mostRates is the maximum number of main figures among the rates that a tool such as mdtest reports itself.
const mostRates = 4

// fileRates are mdtest's most important rates.
var fileRates = []string{"File creation", "File stat"}

// rates returns the rates that a tool reports itself, beginning with mdtest's file rates. They have no interval,
// because the number of iterations behind mdtest's standard deviation is not recorded.
func rates(own iter.Seq2[string, int64]) []Figure {
	var all []Figure
	for operation, milli := range own {
		all = append(all, Figure{Name: v1alpha1.FigureRate, Operation: operation, Estimate: v1alpha1.Estimate{Value: milli}})
	}
	place := func(f Figure) int {
		if at := slices.Index(fileRates, f.Operation); at >= 0 {
			return at
		}
		return len(fileRates)
	}
	slices.SortStableFunc(all, func(a, b Figure) int { return place(a) - place(b) })
	for i := range all[:min(len(all), mostRates)] {
		all[i].Main = true
	}
	return all
}
