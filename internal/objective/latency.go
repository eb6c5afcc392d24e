package objective

import (
	"strconv"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// ofLatency returns the mean latency, the maximum latency or a latency percentile. A percentile that is not recorded is
// computed from the histogram stored with the result.
func ofLatency(percentile string, latency *v1alpha1.LatencyResult, where string) figure {
	if latency == nil || latency.Samples == 0 {
		return absent(where, "no latency was measured")
	}
	switch percentile {
	case "Mean":
		return figure{where: where, value: latency.MeanNanoseconds}
	case "Max":
		return figure{where: where, value: latency.MaxNanoseconds}
	}
	wanted, err := strconv.ParseFloat(percentile, 64)
	if err != nil || !(wanted > 0 && wanted < 100) {
		return absent(where, "unknown percentile %s", percentile)
	}
	stored := map[float64]*int64{50: latency.P50Nanoseconds, 95: latency.P95Nanoseconds, 99: latency.P99Nanoseconds,
		99.9: latency.P999Nanoseconds, 99.99: latency.P9999Nanoseconds}
	value, known := stored[wanted]
	if !known {
		if value, known = fromHistogram(latency.Histogram, wanted); !known {
			return absent(where, "the run does not store percentile %s: use 50, 95, 99, 99.9 or 99.99, or run the benchmark again", percentile)
		}
	}
	if value == nil {
		return absent(where, "too few of the %d samples are above the percentile: use a longer phase", latency.Samples)
	}
	return ofPercentile(where, *value, "Max")
}

// ofPercentile returns the figure of a latency percentile. If the percentile is in the last bucket of the histogram, it
// is only a lower bound. The message then recommends the figure named by `instead`, which is exact.
func ofPercentile(where string, value int64, instead string) figure {
	f := figure{where: where, value: value}
	if value >= int64(measure.LastBucketNanoseconds) {
		f.clipped = "the percentile is 17 s or longer; its exact value is unknown: use percentile " + instead
	}
	return f
}

// fromHistogram computes a percentile from an encoded histogram. value is nil if too few samples lie above the
// percentile. known is false if there is no valid histogram.
func fromHistogram(encoded []byte, percentile float64) (value *int64, known bool) {
	var histogram measure.Histogram
	if len(encoded) == 0 || histogram.UnmarshalBinary(encoded) != nil {
		return nil, false
	}
	found, ok := histogram.Percentile(percentile)
	if !ok {
		return nil, true
	}
	return new(int64(min(found, 1<<62))), true // #nosec G115 -- bounded by min
}
