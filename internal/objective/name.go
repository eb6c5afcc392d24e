package objective

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Figure returns the name of an objective's figure, such as "p99.9 latency of baseline, write".
func Figure(o *v1alpha1.Objective) string {
	name := "figure"
	switch {
	case o.Throughput != nil:
		name = "throughput"
	case o.IOPS != nil:
		name = "IOPS"
	case o.Latency != nil:
		name = latencyName(o.Latency.Percentile)
	case o.Burst != nil:
		name = "burst"
	case o.TimeToBaseline != nil:
		name = "time to baseline"
	case o.Credits != nil:
		name = "credits spent"
	case o.Baseline != nil:
		name = "baseline"
	case o.Refill != nil:
		name = "refill"
	case o.Ratio != nil:
		name = map[string]string{"Documented": "percent of the documented baseline", "DocumentedBurst": "percent of the documented burst",
			"Compression": "compression"}[o.Ratio.Of]
	}
	name += " of " + o.Phase
	if o.Target != "" {
		name += ", target " + o.Target
	}
	if o.Operation != "" {
		name += ", " + strings.ToLower(string(o.Operation))
	}
	if o.Cell != nil {
		name += ", " + selected(o.Cell)
	}
	return v1alpha1.Truncate(name, 128)
}

func latencyName(percentile string) string {
	if percentile == "Mean" || percentile == "Max" {
		return strings.ToLower(percentile) + " latency"
	}
	return "p" + percentile + " latency"
}
