package compare

import (
	"github.com/storagebench/storagebench/api/v1alpha1"
)

// What is told apart, as shares of a figure. Below it the way of measuring decides, and not the storage: where in a
// sample the window begins, and how wide a bucket of a histogram is, of which a percentile is the middle.
const (
	rateResolution       = 0.005
	percentileResolution = 0.016
	ratioResolution      = 0.01
)

// add compares one figure and keeps it where there is room.
func add(made *v1alpha1.TargetComparison, figure v1alpha1.FigureName, operation string, baseline, target Value, better Direction, resolution float64) {
	d, ok := Of(baseline, target, better, resolution)
	if !ok {
		return
	}
	one := v1alpha1.FigureComparison{Figure: figure, Operation: v1alpha1.Truncate(operation, 64), Baseline: int64(baseline.Value), Target: int64(target.Value),
		DifferencePermille: permille(d.Share), Verdict: d.Verdict.API()}
	if d.Known {
		lower, upper := permille(d.Lower), permille(d.Upper)
		one.LowerPermille, one.UpperPermille = &lower, &upper
	}
	made.Figures = append(made.Figures, one)
}

// API is the word for it.
func (v Verdict) API() v1alpha1.FigureVerdict {
	switch v {
	case NoDifference:
		return v1alpha1.FigureNoDifference
	case OtherBetter:
		return v1alpha1.FigureTargetBetter
	case BaselineBetter:
		return v1alpha1.FigureBaselineBetter
	case NotJudged:
	}
	return v1alpha1.FigureNotJudged
}

// command compares how long a program of the user's took. One run of it has no interval.
func (p *Pair) command(made *v1alpha1.TargetComparison) {
	if a, b := p.Baseline.Command, p.Target.Command; a != nil && b != nil {
		add(made, v1alpha1.FigureDuration, "", Alone(float64(a.DurationNanoseconds)), Alone(float64(b.DurationNanoseconds)), LowerIsBetter, rateResolution)
	}
}

// operations compares each operation that both did. The rows of a burst drain are of burst and baseline together, so
// that there only the levels are compared.
func (p *Pair) operations(made *v1alpha1.TargetComparison) {
	if p.Baseline.Burst != nil || p.Target.Burst != nil || p.Baseline.Mdtest != nil {
		return
	}
	both := 0
	for i := range p.Baseline.Operations {
		if operationOf(p.Target, p.Baseline.Operations[i].Operation) != nil {
			both++
		}
	}
	for i := range p.Baseline.Operations {
		a := &p.Baseline.Operations[i]
		if b := operationOf(p.Target, a.Operation); b != nil {
			p.operation(made, a, b, both)
		}
	}
}

func operationOf(result *v1alpha1.TargetResult, operation v1alpha1.Operation) *v1alpha1.OperationResult {
	for i := range result.Operations {
		if result.Operations[i].Operation == operation {
			return &result.Operations[i]
		}
	}
	return nil
}

func (p *Pair) operation(made *v1alpha1.TargetComparison, a, b *v1alpha1.OperationResult, operations int) {
	name := string(a.Operation)
	if a.BytesPerSecond != nil && b.BytesPerSecond != nil {
		add(made, v1alpha1.FigureThroughput, name, rate(*a.BytesPerSecond, a.RateErrorPPM), rate(*b.BytesPerSecond, b.RateErrorPPM), HigherIsBetter, rateResolution)
	}
	if a.IOPSMilli != nil && b.IOPSMilli != nil {
		add(made, v1alpha1.FigureIOPS, name, rate(*a.IOPSMilli, a.RateErrorPPM), rate(*b.IOPSMilli, b.RateErrorPPM), HigherIsBetter, rateResolution)
	}
	if a.Latency == nil || b.Latency == nil {
		return
	}
	add(made, v1alpha1.FigureMeanLatency, name, meanLatency(a.Latency.MeanNanoseconds, a.RateErrorPPM, p.BaselineClosed && operations == 1),
		meanLatency(b.Latency.MeanNanoseconds, b.RateErrorPPM, p.TargetClosed && operations == 1), LowerIsBetter, rateResolution)
	for _, one := range []struct {
		figure v1alpha1.FigureName
		a, b   *int64
		alone  bool
	}{
		{v1alpha1.FigureP50Latency, a.Latency.P50Nanoseconds, b.Latency.P50Nanoseconds, true},
		{v1alpha1.FigureP95Latency, a.Latency.P95Nanoseconds, b.Latency.P95Nanoseconds, true},
		{v1alpha1.FigureP99Latency, a.Latency.P99Nanoseconds, b.Latency.P99Nanoseconds, false},
		{v1alpha1.FigureP999Latency, a.Latency.P999Nanoseconds, b.Latency.P999Nanoseconds, true},
	} {
		if one.a != nil && one.b != nil && (!one.alone || operations == 1) {
			add(made, one.figure, name, Alone(float64(*one.a)), Alone(float64(*one.b)), LowerIsBetter, percentileResolution)
		}
	}
}

// rate is one with the interval that was recorded with it.
func rate(value int64, errorPPM *int64) Value {
	if errorPPM == nil {
		return Alone(float64(value))
	}
	return Within(float64(value), float64(value)*float64(*errorPPM)/1e6)
}

// meanLatency is known, in a closed loop of one operation, as well as the rate is.
func meanLatency(nanoseconds int64, errorPPM *int64, closed bool) Value {
	if !closed {
		return Alone(float64(nanoseconds))
	}
	return rate(nanoseconds, errorPPM)
}

// burst compares the levels of two drains, in the dimension that ran out: of operations only where both say so.
func (p *Pair) burst(made *v1alpha1.TargetComparison) {
	a, b := p.Baseline.Burst, p.Target.Burst
	if a == nil || b == nil {
		return
	}
	one, other, operation := a.Bytes, b.Bytes, ""
	if a.Dimension == "Operations" && b.Dimension == "Operations" && a.Operations != nil && b.Operations != nil {
		one, other, operation = a.Operations, b.Operations, "operations"
	}
	if one == nil || other == nil {
		return
	}
	level := func(figure v1alpha1.FigureName, x, y *v1alpha1.Estimate) {
		if x != nil && y != nil {
			add(made, figure, operation, estimate(x), estimate(y), HigherIsBetter, rateResolution)
		}
	}
	level(v1alpha1.FigureBurst, one.Burst, other.Burst)
	if differs(one.Sustained, one.Burst) || differs(other.Sustained, other.Burst) {
		level(v1alpha1.FigureSustained, one.Sustained, other.Sustained)
		level(v1alpha1.FigurePeak, one.Peak, other.Peak)
	}
	level(v1alpha1.FigureBaseline, one.Baseline, other.Baseline)
	level(v1alpha1.FigureTimeToBaseline, a.NanosecondsToBaseline, b.NanosecondsToBaseline)
	level(v1alpha1.FigureSpent, spent(one), spent(other))
	if one.RefillSource == "Measured" && other.RefillSource == "Measured" {
		level(v1alpha1.FigureRefill, one.Refill, other.Refill)
	}
}

func differs(one, from *v1alpha1.Estimate) bool {
	return one != nil && from != nil && one.Value != from.Value
}

func spent(series *v1alpha1.BurstSeries) *v1alpha1.Estimate {
	if len(series.Drops) == 0 {
		return nil
	}
	return series.Drops[len(series.Drops)-1].Spent
}

func estimate(e *v1alpha1.Estimate) Value {
	if e.Lower == nil || e.Upper == nil {
		return Alone(float64(e.Value))
	}
	return Between(float64(e.Value), float64(*e.Lower), float64(*e.Upper))
}

// rates compares what mdtest says of itself. How many iterations its deviation is over is not recorded, so that there is
// no interval.
func (p *Pair) rates(made *v1alpha1.TargetComparison) {
	if p.Baseline.Mdtest == nil || p.Target.Mdtest == nil {
		return
	}
	for _, a := range p.Baseline.Mdtest.Rates {
		for _, b := range p.Target.Mdtest.Rates {
			if a.Operation == b.Operation {
				add(made, v1alpha1.FigureRate, a.Operation, Alone(float64(a.MeanOPSMilli)), Alone(float64(b.MeanOPSMilli)), HigherIsBetter, rateResolution)
			}
		}
	}
}

// ratio compares how far the files were compressed, where both tell. It is counted, and no matter of chance.
func (p *Pair) ratio(made *v1alpha1.TargetComparison) {
	a, b := ratioOf(p.Baseline.Usage), ratioOf(p.Target.Usage)
	if a == nil || b == nil || *a == 1000 && *b == 1000 {
		return
	}
	add(made, v1alpha1.FigureCompressionRatio, "", Exactly(float64(*a)), Exactly(float64(*b)), HigherIsBetter, ratioResolution)
}

// ratioOf is that of a store that tells it; one that does not compress has 1.
func ratioOf(usage *v1alpha1.UsageResult) *int64 {
	if usage == nil {
		return nil
	}
	if usage.Compression == "None" {
		none := int64(1000)
		return &none
	}
	return usage.CompressionRatioMilli
}
