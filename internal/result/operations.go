package result

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// operations adds the figures of each operation that was done: totals and latency from the tool's
// own end result, rates from the common window.
func (b *builder) operations() {
	for _, operation := range measure.Operations {
		var sum Operation
		var submission float64
		for i := range b.usable {
			one := &b.usable[i].Operations[operation]
			sum.add(one)
			submission += float64(one.SubmissionMeanNanoseconds) * float64(one.Operations)
		}
		if sum.Operations == 0 {
			continue
		}
		b.addOperation(operation, &sum)
		b.judgeLatency(operation, &sum.Latency, submission/float64(sum.Operations))
	}
	if len(b.usable) > 0 && len(b.result.Operations) == 0 {
		b.warn(v1alpha1.WarningNoOperations, nil, "not one operation was completed in the measured time")
	}
}

func (o *Operation) add(other *Operation) {
	o.Bytes += other.Bytes
	o.Operations += other.Operations
	o.Latency.Merge(&other.Latency)
	o.Completion.Merge(&other.Completion)
}

func (b *builder) addOperation(operation measure.Operation, sum *Operation) {
	added := v1alpha1.OperationResult{
		Operation:         v1alpha1.Operation(operation.String()),
		Bytes:             clamp(sum.Bytes),
		Operations:        clamp(sum.Operations),
		Latency:           latency(&sum.Latency),
		CompletionLatency: latency(&sum.Completion),
	}
	// fio counts no bytes for a sync and does not put it into its live samples either.
	if b.result.WindowNanoseconds > 0 && operation != measure.Sync {
		bytesPerSecond := int64(math.Round(b.rates[operation].BytesPerSecond))
		iopsMilli := int64(math.Round(b.rates[operation].OperationsPerSecond * 1000))
		added.BytesPerSecond, added.IOPSMilli = &bytesPerSecond, &iopsMilli
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

// clamp fits a count into the API's integers.
func clamp(value uint64) int64 { return int64(min(value, math.MaxInt64)) } //nolint:gosec // Just bounded.

func pointer(value *uint64) *int64 {
	if value == nil {
		return nil
	}
	clamped := clamp(*value)
	return &clamped
}
