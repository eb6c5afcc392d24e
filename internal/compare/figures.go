package compare

import (
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Relative differences up to these values count as no difference, because the measurement method, not the storage, may
// have caused them. A rate depends slightly on the position of the measured window within a sample. A percentile is
// reported as the middle of its histogram bucket, so the width of the bucket limits its precision.
const (
	rateResolution       = 0.005
	percentileResolution = 0.016
	ratioResolution      = 0.01
)

// API converts the verdict to the API's type.
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

// figures compares each figure that both results have. For each, it calls add with the API's comparison and the
// unrounded difference.
func (p *Pair) figures(add func(v1alpha1.FigureComparison, Difference)) {
	kind := phasekind.Of(p.Kind)
	baseline, target := kind.Figures(p.Baseline), kind.Figures(p.Target)
	levels := p.levels()
	alternates := phasekind.Alternates(baseline, levels) || phasekind.Alternates(target, levels)
	for i := range baseline {
		a := &baseline[i]
		b := phasekind.Find(target, a.Name, a.Operation)
		if b == nil || p.inLevels() && a.Name != v1alpha1.FigureCompressionRatio && a.Operation != levels {
			continue
		}
		resolution, x, y := rateResolution, valueOf(a.Estimate), valueOf(b.Estimate)
		switch a.Name {
		case v1alpha1.FigureSustained, v1alpha1.FigurePeak:
			if !alternates {
				continue
			}
		case v1alpha1.FigureMeanLatency:
			x = meanLatency(a.Value, rateError(p.Baseline, a.Operation), p.BaselineClosed && len(p.Baseline.Operations) == 1)
			y = meanLatency(b.Value, rateError(p.Target, a.Operation), p.TargetClosed && len(p.Target.Operations) == 1)
		case v1alpha1.FigureP99Latency:
			resolution = percentileResolution
		case v1alpha1.FigureP50Latency, v1alpha1.FigureP95Latency, v1alpha1.FigureP999Latency:
			if p.operations() != 1 {
				continue
			}
			resolution = percentileResolution
		case v1alpha1.FigureCompressionRatio:
			if a.Value == 1000 && b.Value == 1000 {
				continue
			}
			resolution = ratioResolution
		default:
		}
		better := HigherIsBetter
		if a.LowerIsBetter() {
			better = LowerIsBetter
		}
		if d, ok := Of(x, y, better, resolution); ok {
			add(d.of(a.Name, a.Operation, a.Value, b.Value), d)
		}
	}
}

// uncompared lists the main figures that cannot be compared because one of the two results lacks the figure or has a
// value of 0. It returns "" if there are none. It ignores the compression ratio, which some stores do not report. If a
// search met its objective even at the highest rate that it could offer, uncompared reports only that.
func (p *Pair) uncompared() string {
	for _, one := range []*v1alpha1.TargetResult{p.Baseline, p.Target} {
		if one.Search != nil && one.Search.AtLeast && has(one, v1alpha1.WarningSearchInconclusive) {
			return one.Target + " met the objective even at rate.max, so its highest rate is unknown: raise rate.max"
		}
	}
	kind, levels := phasekind.Of(p.Kind), p.levels()
	baseline, target := kind.Figures(p.Baseline), kind.Figures(p.Target)
	var ofBaseline, ofTarget []string
	for _, f := range slices.Concat(baseline, target) {
		if !f.Main || f.Name == v1alpha1.FigureCompressionRatio {
			continue
		}
		operation := f.Operation
		if p.inLevels() {
			operation = levels
		}
		a, b := phasekind.Find(baseline, f.Name, operation), phasekind.Find(target, f.Name, operation)
		lacks := func(f *phasekind.Figure) bool { return f == nil || f.Value == 0 }
		side, lacking := &ofBaseline, a
		if lacks(b) {
			side, lacking = &ofTarget, b
		}
		text := strings.TrimSpace(strings.TrimPrefix(operation, phasekind.InOperations) + " " + string(f.Name))
		if lacking != nil {
			text += " above 0"
		}
		if lacks(a) != lacks(b) && !slices.Contains(*side, text) {
			*side = append(*side, text)
		}
	}
	var all []string
	if len(ofBaseline) > 0 {
		all = append(all, p.Baseline.Target+" has no "+strings.Join(ofBaseline, ", "))
	}
	if len(ofTarget) > 0 {
		all = append(all, p.Target.Target+" has no "+strings.Join(ofTarget, ", "))
	}
	return strings.Join(all, "; ")
}

// of converts the difference to the API's type.
func (d *Difference) of(figure v1alpha1.FigureName, operation string, baseline, target int64) v1alpha1.FigureComparison {
	made := v1alpha1.FigureComparison{Figure: figure, Operation: v1alpha1.Truncate(operation, 64), Baseline: baseline, Target: target,
		DifferencePermille: permille(d.Share), Verdict: d.Verdict.API()}
	if d.Known {
		made.LowerPermille, made.UpperPermille = new(permille(d.Lower)), new(permille(d.Upper))
	}
	return made
}

// inLevels reports whether to compare the figures of drains, such as burst and baseline. In a phase with steps, a drain
// only precedes the steps, so the figures of the steps are compared instead.
func (p *Pair) inLevels() bool { return p.Baseline.Burst != nil && len(p.Baseline.Steps) == 0 }

// levels returns the dimension in which two drains are compared, as a value of Figure.Operation: InOperations if the
// credits of both drains count operations, and otherwise "", which stands for bytes.
func (p *Pair) levels() string {
	_, one := phasekind.MainSeries(p.Baseline.Burst)
	_, other := phasekind.MainSeries(p.Target.Burst)
	if one == other {
		return one
	}
	return ""
}

// operations returns the number of kinds of operations that occur in both results.
func (p *Pair) operations() int {
	both := 0
	for i := range p.Baseline.Operations {
		if operationOf(p.Target, string(p.Baseline.Operations[i].Operation)) != nil {
			both++
		}
	}
	return both
}

func operationOf(result *v1alpha1.TargetResult, operation string) *v1alpha1.OperationResult {
	at := slices.IndexFunc(result.Operations, func(o v1alpha1.OperationResult) bool { return string(o.Operation) == operation })
	if at < 0 {
		return nil
	}
	return &result.Operations[at]
}

func rateError(result *v1alpha1.TargetResult, operation string) *int64 {
	return operationOf(result, operation).RateErrorPPM
}

// meanLatency returns a mean latency with its interval, if known. In a closed loop with one kind of operation, the
// latency has the same relative error as the rate.
func meanLatency(nanoseconds int64, errorPPM *int64, closed bool) Value {
	if !closed || errorPPM == nil {
		return WithoutInterval(float64(nanoseconds))
	}
	return Within(float64(nanoseconds), float64(nanoseconds)*float64(*errorPPM)/1e6)
}

func valueOf(e v1alpha1.Estimate) Value {
	if e.Lower == nil || e.Upper == nil {
		return WithoutInterval(float64(e.Value))
	}
	return Between(float64(e.Value), float64(*e.Lower), float64(*e.Upper))
}
