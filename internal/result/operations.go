package result

import (
	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// operations adds the figures of each operation that the clients performed. The totals and the latencies come from the
// tool's own final report. The rates have already been computed by the method throughput.
func (b *builder) operations() {
	for _, operation := range measure.Operations {
		var total Operation
		var submission float64
		for i := range b.usable {
			one := &b.usable[i].Operations[operation]
			total.add(one)
			submission += float64(one.SubmissionMeanNanoseconds) * float64(one.Operations)
		}
		// An opaque load may have bytes but no counted operations, for example if it accesses mapped files.
		if total.Operations == 0 && (total.Bytes == 0 || !b.load.Opaque) {
			continue
		}
		b.addOperation(operation, &total)
		if b.load.TimesOperations {
			b.judgeLatency(operation, &total.Latency, submission/float64(total.Operations))
		}
	}
	if len(b.usable) > 0 && len(b.result.Operations) == 0 && !b.ratesAlone() && !b.setsUp() {
		b.warnings.add(v1alpha1.WarningNoOperations, nil, "no operation completed in the measured time")
	}
}

func (o *Operation) add(other *Operation) {
	o.Bytes = measure.Sum(o.Bytes, other.Bytes)
	o.Operations = measure.Sum(o.Operations, other.Operations)
	o.Latency.Merge(&other.Latency)
	o.Completion.Merge(&other.Completion)
}

func (b *builder) addOperation(operation measure.Operation, total *Operation) {
	added := v1alpha1.OperationResult{
		Operation:         v1alpha1.Operation(operation.String()),
		Bytes:             measure.Clamp(total.Bytes),
		Operations:        measure.Clamp(total.Operations),
		Latency:           withHistogram(latency(&total.Latency), &total.Latency.Histogram),
		CompletionLatency: latency(&total.Completion),
	}
	if b.result.WindowNanoseconds > 0 {
		added.RateErrorPPM = b.rateError(operation)
		// Omit the IOPS of operations that were not counted, and the bytes per second of operations that move no data: 0
		// would be misleading.
		if total.Operations > 0 {
			added.IOPSMilli = new(measure.Round(b.rates[operation].OperationsPerSecond * 1000))
		}
		if operation.MovesData() {
			added.BytesPerSecond = new(measure.Round(b.rates[operation].BytesPerSecond))
		}
	}
	b.result.Operations = append(b.result.Operations, added)
}

// latency converts a latency distribution for the API; it returns nil if no operation was timed.
func latency(from *measure.Latency) *v1alpha1.LatencyResult {
	if from.Count == 0 {
		return nil
	}
	summary := from.Summary()
	return &v1alpha1.LatencyResult{
		Samples:          measure.Clamp(summary.Count),
		MeanNanoseconds:  measure.Clamp(summary.MeanNanoseconds),
		MinNanoseconds:   measure.Clamp(summary.MinNanoseconds),
		P50Nanoseconds:   pointer(summary.P50Nanoseconds),
		P95Nanoseconds:   pointer(summary.P95Nanoseconds),
		P99Nanoseconds:   pointer(summary.P99Nanoseconds),
		P999Nanoseconds:  pointer(summary.P999Nanoseconds),
		P9999Nanoseconds: pointer(summary.P9999Nanoseconds),
		MaxNanoseconds:   measure.Clamp(summary.MaxNanoseconds),
	}
}

// withHistogram adds the latency histogram to a result, so that any percentile can be computed later.
func withHistogram(summary *v1alpha1.LatencyResult, from *measure.Histogram) *v1alpha1.LatencyResult {
	if summary == nil || from.Count() == 0 {
		return summary
	}
	// Leave out a histogram that cannot be encoded, because percentiles cannot be computed from it either.
	if encoded, err := from.MarshalBinary(); err == nil && len(encoded) <= maxHistogramBytes {
		summary.Histogram = encoded
	}
	return summary
}

// maxHistogramBytes is the API's limit on the size of a histogram, before base64 encoding.
const maxHistogramBytes = 12 << 10

func pointer(value *uint64) *int64 {
	if value == nil {
		return nil
	}
	return new(measure.Clamp(*value))
}
