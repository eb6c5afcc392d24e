package phasekind

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Figure is a figure of a result, in the unit of the API, with its 95 % interval if known.
type Figure struct {
	Name v1alpha1.FigureName
	// Operation is the kind of operation that the figure measures, such as read, or the name that mdtest gives it. It
	// is InOperations for the levels of a drain whose credits count operations, and "" if the figure covers all
	// operations.
	Operation string
	v1alpha1.Estimate
	// Main is true if the figure is one of the main results of the phase.
	Main bool
	// Cell is the index of the cell that was measured, if the figure is the best of all cells.
	Cell int32
}

// InOperations is the value of Figure.Operation for the levels of a drain whose credits count operations. If the
// credits count bytes, Operation is "" instead.
const InOperations = "operations"

// Unit returns the unit of the figure, or "" for a ratio, which is in thousandths.
func (f *Figure) Unit() v1alpha1.FigureUnit { return Unit(f.Name, f.Operation) }

// Unit returns the unit of a figure, or "" for a ratio, which is in thousandths.
func Unit(name v1alpha1.FigureName, operation string) v1alpha1.FigureUnit {
	switch name {
	case v1alpha1.FigureMeanLatency, v1alpha1.FigureP50Latency, v1alpha1.FigureP95Latency, v1alpha1.FigureP99Latency, v1alpha1.FigureP999Latency,
		v1alpha1.FigureTimeToBaseline, v1alpha1.FigureDuration:
		return v1alpha1.UnitNanoseconds
	case v1alpha1.FigureIOPS, v1alpha1.FigureRate:
		return v1alpha1.UnitIOPSMilli
	case v1alpha1.FigureCompressionRatio:
		return ""
	case v1alpha1.FigureSpent:
		if operation == InOperations {
			return v1alpha1.UnitOperations
		}
		return v1alpha1.UnitBytes
	case v1alpha1.FigureThroughput, v1alpha1.FigureBurst, v1alpha1.FigureSustained, v1alpha1.FigurePeak, v1alpha1.FigureBaseline, v1alpha1.FigureRefill:
	}
	if operation == InOperations {
		return v1alpha1.UnitIOPSMilli
	}
	return v1alpha1.UnitBytesPerSecond
}

// LowerIsBetter reports whether a lower figure is better, as for latencies and durations. The time to baseline is an
// exception: a longer time is better, because the bucket lasts longer.
func (f *Figure) LowerIsBetter() bool {
	return f.Unit() == v1alpha1.UnitNanoseconds && f.Name != v1alpha1.FigureTimeToBaseline
}

// Find returns the named figure of an operation, or nil if there is none.
func Find(figures []Figure, name v1alpha1.FigureName, operation string) *Figure {
	at := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name && f.Operation == operation })
	if at < 0 {
		return nil
	}
	return &figures[at]
}

// ratio returns the compression ratio of the files if the store reports it. The ratio is computed from counted bytes,
// so it has no random error. If the store does not compress, the ratio is 1. In that case it is not a main figure, but
// can be compared with the ratios of stores that compress.
func ratio(usage *v1alpha1.UsageResult) []Figure {
	if usage == nil {
		return nil
	}
	value, shown := usage.CompressionRatioMilli, usage.CompressionRatioMilli != nil
	if usage.Compression == "None" {
		value = new(int64(1000))
	}
	if value == nil {
		return nil
	}
	return []Figure{{Name: v1alpha1.FigureCompressionRatio, Estimate: v1alpha1.Estimate{Value: *value, Lower: value, Upper: value}, Main: shown}}
}
