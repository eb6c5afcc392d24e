package report

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// aboveBaseline is the factor by which a rate must exceed the documented baseline to be compared with the documented
// burst instead.
const aboveBaseline = 1.1

// promise holds the documented value of a figure, and the measured figure as a percentage of this value, both as text.
// Both are empty if no value is documented.
type promise struct{ value, percent string }

// documentedRates records which documented values the report has already shown.
type documentedRates map[string]bool

// once returns the documented value if the report has not shown it yet, and "" otherwise. detail is true if the caller
// shows the value only in the details. The short form omits the details, so the first call with detail false returns
// such a value once more.
func (t documentedRates) once(p promise, detail bool) string {
	key := p.value
	if detail {
		key = "detail " + key
	}
	if t[p.value] || t[key] {
		return ""
	}
	t[key] = true
	return p.value
}

// documentedOf returns the documented value of a figure.
func documentedOf(d Document, target *v1alpha1.TargetResult, f *phasekind.Figure) promise {
	value := documentedValue(d, target, f)
	if value <= 0 {
		return promise{}
	}
	share := float64(f.Value) / float64(value)
	return promise{value: figureValue(f.Name, f.Operation, value), percent: measure.FormatShare(share)}
}

// documentedValue returns the documented value of a figure in its unit, or 0 if it is unknown.
func documentedValue(d Document, target *v1alpha1.TargetResult, f *phasekind.Figure) int64 {
	bytes := f.Unit() == v1alpha1.UnitBytesPerSecond
	switch f.Name {
	case v1alpha1.FigureBurst, v1alpha1.FigurePeak, v1alpha1.FigureSustained:
		if a := attributionOf(target, v1alpha1.LevelBurst, ""); a != nil {
			if burst := rateOf(a.Burst, bytes); burst > 0 {
				return burst
			}
			return rateOf(a.Baseline, bytes)
		}
	case v1alpha1.FigureBaseline:
		if a := attributionOf(target, v1alpha1.LevelBaseline, ""); a != nil {
			return rateOf(a.Baseline, bytes)
		}
	case v1alpha1.FigureThroughput, v1alpha1.FigureIOPS:
		a := attributionOf(target, "", f.Operation)
		if a == nil {
			return 0
		}
		baseline, burst := rateOf(a.Baseline, bytes), rateOf(a.Burst, bytes)
		if burst > 0 && (baseline <= 0 || float64(f.Value) > aboveBaseline*float64(baseline)) {
			return burst
		}
		return baseline
	case v1alpha1.FigureTimeToBaseline, v1alpha1.FigureSpent, v1alpha1.FigureRefill:
		if f.Main {
			return bucketValue(d, target, f)
		}
	default:
	}
	return 0
}

// rateOf returns a documented rate in bytes or in operations, or 0 if it is unknown.
func rateOf(of *v1alpha1.DocumentedRate, bytes bool) int64 {
	switch {
	case of == nil:
	case bytes && of.BytesPerSecond != nil:
		return *of.BytesPerSecond
	case !bytes && of.IOPSMilli != nil:
		return *of.IOPSMilli
	}
	return 0
}

// bucketValue returns the documented value of a figure that describes a credit bucket: its size, its refill, or how
// long it lasts when full. The bucket belongs to the limit that burstLimit returns. bucketValue returns 0 if the value
// is unknown, or if the figure counts bytes and the bucket operations, or vice versa.
func bucketValue(d Document, target *v1alpha1.TargetResult, f *phasekind.Figure) int64 {
	limit := burstLimit(d, target)
	if limit == nil || (limit.Dimension == "Operations") != (f.Operation == phasekind.InOperations) {
		return 0
	}
	scale := int64(1)
	if limit.Dimension == "Operations" && f.Name == v1alpha1.FigureRefill {
		scale = 1000 // operation rates are stored in thousandths
	}
	switch {
	case f.Name == v1alpha1.FigureRefill && limit.Refill != nil:
		return scale * *limit.Refill
	case limit.Bucket == nil:
	case f.Name == v1alpha1.FigureSpent:
		return *limit.Bucket
	case f.Name != v1alpha1.FigureTimeToBaseline || limit.Burst == nil || limit.Refill == nil:
	case *limit.Burst > *limit.Refill:
		return int64(float64(*limit.Bucket) / float64(*limit.Burst-*limit.Refill) * 1e9)
	}
	return 0
}

// burstLimit returns the documented limit that the burst of a target's drain is
// compared with, or nil if there is none.
func burstLimit(d Document, target *v1alpha1.TargetResult) *v1alpha1.DocumentedLimit {
	a := attributionOf(target, v1alpha1.LevelBurst, "")
	if a == nil || a.Burst == nil {
		return nil
	}
	for i := range d.Storage {
		limits := d.Storage[i].Limits
		if d.Storage[i].Target != target.Target {
			continue
		}
		if at := slices.IndexFunc(limits, func(l v1alpha1.DocumentedLimit) bool { return l.Name == a.Burst.Limit }); at >= 0 {
			return &limits[at]
		}
	}
	return nil
}

// attributionOf returns the attribution of a drain level or, if level is "", of an operation. If the target performed
// only one operation, it also accepts the attribution of all operations together. It returns nil if there is none.
func attributionOf(
	target *v1alpha1.TargetResult, level v1alpha1.AttributionLevel, operation string,
) *v1alpha1.Attribution {
	for i := range target.Attributions {
		one := &target.Attributions[i]
		if one.Level != level {
			continue
		}
		if level != "" || one.Operation == "" && len(target.Operations) == 1 || string(one.Operation) == operation {
			return one
		}
	}
	return nil
}
