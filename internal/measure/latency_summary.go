package measure

// SummaryPercentile is a percentile that every summary contains.
type SummaryPercentile struct {
	// Name is the prefix of the JSON field's name, such as "p999" in "p999Nanoseconds".
	Name string
	// Percentile is in (0, 100].
	Percentile float64
}

// SummaryPercentiles returns the percentiles of a LatencySummary in ascending order. The name p999 stands for the
// 99.9th percentile.
func SummaryPercentiles() []SummaryPercentile {
	return []SummaryPercentile{
		{Name: "p50", Percentile: 50},
		{Name: "p95", Percentile: 95},
		{Name: "p99", Percentile: 99},
		{Name: "p999", Percentile: 99.9},
		{Name: "p9999", Percentile: 99.99},
	}
}

// LatencySummary holds the figures of a Latency that are shown to users and written as JSON. An unknown percentile is
// nil, and absent in JSON; TooFewSamples names the percentiles that are unknown because fewer than MinSamplesAbove
// samples lie above them.
type LatencySummary struct {
	Count            uint64  `json:"count"`
	MeanNanoseconds  uint64  `json:"meanNanoseconds"`
	MinNanoseconds   uint64  `json:"minNanoseconds"`
	P50Nanoseconds   *uint64 `json:"p50Nanoseconds,omitempty"`
	P95Nanoseconds   *uint64 `json:"p95Nanoseconds,omitempty"`
	P99Nanoseconds   *uint64 `json:"p99Nanoseconds,omitempty"`
	P999Nanoseconds  *uint64 `json:"p999Nanoseconds,omitempty"`
	P9999Nanoseconds *uint64 `json:"p9999Nanoseconds,omitempty"`
	MaxNanoseconds   uint64  `json:"maxNanoseconds"`
	// CountInLastBucket is the number of operations that took 17.05 s or longer. If it is not 0, the result gets the
	// warning LatencyClipped, and a percentile equal to LastBucketNanoseconds is a lower bound.
	CountInLastBucket uint64 `json:"countInLastBucket,omitempty"`
	// TooFewSamples lists the omitted percentiles by their names in SummaryPercentiles.
	TooFewSamples []string `json:"tooFewSamples,omitempty"`
}

// Summary computes the mean, the minimum and maximum, and the percentiles.
func (l *Latency) Summary() LatencySummary {
	summary := LatencySummary{
		Count:             l.Count,
		MeanNanoseconds:   l.MeanNanoseconds(),
		MinNanoseconds:    l.MinNanoseconds,
		MaxNanoseconds:    l.MaxNanoseconds,
		CountInLastBucket: l.Histogram.CountInLastBucket(),
	}
	fields := []**uint64{
		&summary.P50Nanoseconds, &summary.P95Nanoseconds, &summary.P99Nanoseconds,
		&summary.P999Nanoseconds, &summary.P9999Nanoseconds,
	}
	for i, wanted := range SummaryPercentiles() {
		if value, ok := l.Histogram.Percentile(wanted.Percentile); ok {
			*fields[i] = &value
		} else if l.Histogram.Count() != 0 {
			summary.TooFewSamples = append(summary.TooFewSamples, wanted.Name)
		}
	}
	return summary
}
