package result

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// operations adds the figures of each operation that was done: totals and latency from the tool's
// own end result, rates from throughput.
func (b *builder) operations() {
	for _, operation := range measure.Operations {
		var total Operation
		var submission float64
		for i := range b.usable {
			one := &b.usable[i].Operations[operation]
			total.add(one)
			submission += float64(one.SubmissionMeanNanoseconds) * float64(one.Operations)
		}
		if total.Operations == 0 {
			continue
		}
		b.addOperation(operation, &total)
		if b.spans || b.program != nil {
			continue // neither ior nor mdtest time single operations, and nobody those of a program
		}
		b.judgeLatency(operation, &total.Latency, submission/float64(total.Operations))
	}
	if len(b.usable) > 0 && len(b.result.Operations) == 0 && !b.ratesAlone() {
		b.warnings.add(v1alpha1.WarningNoOperations, nil, "no operation completed in the measured time")
	}
}

func (o *Operation) add(other *Operation) {
	o.Bytes = sum(o.Bytes, other.Bytes)
	o.Operations = sum(o.Operations, other.Operations)
	o.Latency.Merge(&other.Latency)
	o.Completion.Merge(&other.Completion)
}

func (b *builder) addOperation(operation measure.Operation, total *Operation) {
	added := v1alpha1.OperationResult{
		Operation:         v1alpha1.Operation(operation.String()),
		Bytes:             clamp(total.Bytes),
		Operations:        clamp(total.Operations),
		Latency:           withHistogram(latency(&total.Latency), &total.Latency.Histogram),
		CompletionLatency: latency(&total.Completion),
	}
	if b.result.WindowNanoseconds > 0 {
		iopsMilli := rounded(b.rates[operation].OperationsPerSecond * 1000)
		added.IOPSMilli = &iopsMilli
		added.RateErrorPPM = b.rateError(operation)
		// A sync moves no bytes of its own: 0 B/s would be a figure, and a wrong one.
		if operation != measure.Sync {
			bytesPerSecond := rounded(b.rates[operation].BytesPerSecond)
			added.BytesPerSecond = &bytesPerSecond
		}
	}
	b.result.Operations = append(b.result.Operations, added)
}

// latency is nil where nothing was timed.
func latency(from *measure.Latency) *v1alpha1.LatencyResult {
	if from.Count == 0 {
		return nil
	}
	summary := from.Summary()
	return &v1alpha1.LatencyResult{
		Samples:          clamp(summary.Count),
		MeanNanoseconds:  clamp(summary.MeanNanoseconds),
		MinNanoseconds:   clamp(summary.MinNanoseconds),
		P50Nanoseconds:   pointer(summary.P50Nanoseconds),
		P95Nanoseconds:   pointer(summary.P95Nanoseconds),
		P99Nanoseconds:   pointer(summary.P99Nanoseconds),
		P999Nanoseconds:  pointer(summary.P999Nanoseconds),
		P9999Nanoseconds: pointer(summary.P9999Nanoseconds),
		MaxNanoseconds:   clamp(summary.MaxNanoseconds),
	}
}

// withHistogram keeps the distribution, so that any percentile can be had later.
func withHistogram(summary *v1alpha1.LatencyResult, from *measure.Histogram) *v1alpha1.LatencyResult {
	if summary == nil || from.Count() == 0 {
		return summary
	}
	// One whose counts do not fit has no percentiles either.
	if encoded, err := from.MarshalBinary(); err == nil && len(encoded) <= maxHistogramBytes {
		summary.Histogram = encoded
	}
	return summary
}

// maxHistogramBytes is the API's bound before base64.
const maxHistogramBytes = 12 << 10

// clamp fits a count into the API's integers.
func clamp(value uint64) int64 { return int64(min(value, math.MaxInt64)) }

func pointer(value *uint64) *int64 {
	if value == nil {
		return nil
	}
	clamped := clamp(*value)
	return &clamped
}
