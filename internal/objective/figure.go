package objective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Units of the figures in objective results, as in the API.
const (
	unitBytes = "BytesPerSecond"
	unitIOPS  = "IOPSMilli"
	unitTime  = "Nanoseconds"
	// unitPermille is the unit of ratios: thousandths.
	unitPermille   = "Permille"
	unitAmount     = "Bytes"
	unitOperations = "Operations"
)

// figure is a value that is compared with an objective's bounds. It belongs to one target or one cell.
type figure struct {
	// where names the target or cell in messages.
	where string
	value int64
	// unit is the unit of value if it differs from the objective's unit, and otherwise empty.
	unit string
	// lower and upper are the ends of the 95 % interval; nil if there is none.
	lower, upper *int64
	// missing explains why there is no figure and what to do; "" if there is one.
	missing string
	// clipped explains that value is only a lower bound, and what to do; "" if it is exact.
	clipped string
}

// notCounted explains why a result has bytes per second but no operations per second: a program moved the bytes without
// system calls.
const notCounted = "the operations were not counted: set throughput instead"

func absent(where, format string, arguments ...any) figure {
	return figure{where: where, missing: fmt.Sprintf(format, arguments...)}
}

// figures returns one figure for each target and cell that the objective covers.
func figures(o *v1alpha1.Objective, spec *v1alpha1.BenchmarkRunSpec, status *v1alpha1.BenchmarkRunStatus) []figure {
	at := slices.IndexFunc(status.Phases, func(p v1alpha1.PhaseResult) bool { return p.Name == o.Phase })
	if at < 0 {
		return []figure{absent("phase "+o.Phase, "the phase has no result")}
	}
	var found []figure
	phase := &status.Phases[at]
	for i := range phase.Targets {
		target := &phase.Targets[i]
		if o.Target != "" && target.Target != o.Target {
			continue
		}
		if o.Cell != nil {
			found = append(found, cells(o, spec, target)...)
			continue
		}
		found = append(found, ofTarget(o, phasekind.Of(phase.Kind), target))
	}
	// For each target without a result, add a figure that is marked as missing, so that the target does not count as
	// having met the objective.
	for i := range spec.Run.Targets {
		name := spec.Run.Targets[i].Name
		wanted := o.Target == "" || o.Target == name
		if wanted && !slices.ContainsFunc(phase.Targets, func(t v1alpha1.TargetResult) bool { return t.Target == name }) && takesPart(spec, o.Phase, name) {
			found = append(found, absent("target "+name, "no result in phase %s", o.Phase))
		}
	}
	if len(found) == 0 {
		return []figure{absent("target "+o.Target, "no result in phase %s", o.Phase)}
	}
	return found
}

// takesPart reports whether a phase has steps on a target.
func takesPart(spec *v1alpha1.BenchmarkRunSpec, phase, target string) bool {
	return slices.ContainsFunc(spec.Steps, func(s v1alpha1.ResolvedStep) bool {
		return s.Phase == phase && slices.Contains(s.Targets, target)
	})
}

func ofTarget(o *v1alpha1.Objective, kind phasekind.Kind, target *v1alpha1.TargetResult) figure {
	where := "target " + target.Target
	switch {
	case o.Throughput != nil, o.IOPS != nil, o.Latency != nil:
		if len(target.Operations) == 0 && len(target.Steps) > 0 {
			if why := kind.WithoutFigures(target); why != "" {
				return absent(where, "%s", why)
			}
			return absent(where, "phase %s has a result for each step: set cell", o.Phase)
		}
		if phasekind.Drained(target) {
			return absent(where, "the credits ran out, so the figure would mix burst and baseline: "+
				"set burst or baseline, or name a steady phase")
		}
		return ofOperation(o, target, where)
	case o.TimeToBaseline != nil, o.Credits != nil:
		return ofExhaustion(o, target, where)
	case o.Burst != nil, o.Baseline != nil, o.Refill != nil:
		return ofDrain(o, target, where)
	case o.Ratio != nil:
		return ofRatio(o, target, where)
	}
	return absent(where, "the objective has no figure")
}

// ofOperation returns the throughput, operations per second or latency of an operation.
func ofOperation(o *v1alpha1.Objective, target *v1alpha1.TargetResult, where string) figure {
	names := make([]v1alpha1.Operation, len(target.Operations))
	for i := range target.Operations {
		names[i] = target.Operations[i].Operation
	}
	at, missing := chosen(names, o.Operation)
	if missing != "" {
		return absent(where, "%s", missing)
	}
	operation := &target.Operations[at]
	where += ", " + strings.ToLower(string(operation.Operation))
	rate := operation.BytesPerSecond
	switch {
	case o.Latency != nil:
		return ofLatency(o.Latency.Percentile, operation.Latency, where)
	case o.IOPS != nil && operation.IOPSMilli == nil && rate != nil:
		return absent(where, "%s", notCounted)
	case o.IOPS != nil:
		rate = operation.IOPSMilli
	}
	if rate == nil {
		return absent(where, "the clients never ran at the same time: use a longer phase")
	}
	return withError(figure{where: where, value: *rate}, operation.RateErrorPPM)
}

// withError adds the 95 % interval to a figure. errorPPM is half the width of the interval, in millionths of the value;
// nil if it is unknown. It can exceed a million if only a few operations completed.
func withError(f figure, errorPPM *int64) figure {
	if errorPPM == nil || *errorPPM < 0 {
		return f
	}
	half := int64(float64(f.value) * float64(*errorPPM) / 1e6)
	f.lower, f.upper = new(max(f.value-half, 0)), new(f.value+half)
	return f
}

// chosen returns the index of the wanted operation in names. If wanted is empty, it returns the index of the only
// operation other than Sync. missing explains why there is no such operation.
func chosen(names []v1alpha1.Operation, wanted v1alpha1.Operation) (at int, missing string) {
	if wanted != "" {
		if at = slices.Index(names, wanted); at < 0 {
			return 0, fmt.Sprintf("no %s operations", strings.ToLower(string(wanted)))
		}
		return at, ""
	}
	at = -1
	for i, name := range names {
		if name == v1alpha1.OperationSync {
			continue // syncs count as part of the writes
		}
		if at >= 0 {
			return 0, "several kinds of operations: set operation"
		}
		at = i
	}
	if at < 0 {
		return 0, "no figures"
	}
	return at, ""
}

// ofDrain returns the burst rate, the baseline or the refill rate that a burst drain measured.
func ofDrain(o *v1alpha1.Objective, target *v1alpha1.TargetResult, where string) figure {
	if target.Burst == nil || target.Burst.Bytes == nil {
		return absent(where, "no burst was measured: specify a burstDrain phase")
	}
	series, name, what := target.Burst.Bytes, v1alpha1.FigureBurst, "burst"
	switch {
	case o.Baseline != nil:
		name, what = v1alpha1.FigureBaseline, "baseline"
		if !target.Burst.Exhausted {
			return absent(where, "the credits were not spent, so no baseline was measured: use a longer drain")
		}
	case o.Refill != nil:
		name, what = v1alpha1.FigureRefill, "refill"
		switch {
		case phasekind.EarlierRefill(target.Burst, series):
			return absent(where, "an earlier phase measured the refill: set phase to the name of that phase")
		case series.Refill != nil && series.RefillSource != "Measured":
			return absent(where, "the refill is %s, not measured: add a refill phase", strings.ToLower(series.RefillSource))
		}
	}
	found := phasekind.Find(phasekind.Levels(target.Burst), name, "")
	if found == nil {
		return absent(where, "the drain did not measure the %s", what)
	}
	return figureOf(where, found)
}

func figureOf(where string, found *phasekind.Figure) figure {
	return figure{where: where, value: found.Value, unit: string(found.Unit()), lower: found.Lower, upper: found.Upper}
}

// ofExhaustion returns how long a drain took to use up the credits, or how many credits it used.
func ofExhaustion(o *v1alpha1.Objective, target *v1alpha1.TargetResult, where string) figure {
	burst := target.Burst
	switch {
	case burst == nil:
		return absent(where, "no burst was measured: specify a burstDrain phase")
	case !burst.Exhausted:
		return absent(where, "the credits were not spent: use a longer drain")
	}
	_, operation := phasekind.MainSeries(burst)
	name, why := v1alpha1.FigureSpent, "the spent credits are unknown, because the refill is neither documented nor measured: set the target's documented field"
	if o.TimeToBaseline != nil {
		name, why = v1alpha1.FigureTimeToBaseline, "the throughput did not settle: use a longer drain"
	}
	found := phasekind.Find(phasekind.Levels(burst), name, operation)
	if found == nil {
		return absent(where, "%s", why)
	}
	return figureOf(where, found)
}

// ofRatio returns a ratio in thousandths: the rate divided by the documented rate, or the size of the data divided by
// the space that it occupies.
func ofRatio(o *v1alpha1.Objective, target *v1alpha1.TargetResult, where string) figure {
	if o.Ratio.Of == "Compression" {
		if target.Usage == nil {
			return absent(where, "the space that the data occupies was not measured: choose a phase that writes data, or see the warning UsageUnknown")
		}
		if target.Usage.CompressionRatioMilli == nil {
			return absent(where, "the compression ratio is unknown: see usage in the phase's result")
		}
		return figure{where: where, value: *target.Usage.CompressionRatioMilli}
	}
	if len(target.Steps) > 0 && len(target.Attributions) == 0 {
		return absent(where, "phase %s has a result for each step: set cell", o.Phase)
	}
	found, missing := attributionOf(o, target)
	if found == nil {
		return absent(where, "%s", missing)
	}
	rate, what := found.Baseline, "baseline"
	if o.Ratio.Of == "DocumentedBurst" {
		rate, what = found.Burst, "burst"
	}
	if rate == nil {
		return absent(where, "no documented %s: set the target's documented field", what)
	}
	return figure{where: where, value: rate.PermilleReached}
}

// attributionOf returns the attribution that contains the documented rate for the objective's ratio. If there is none,
// it returns nil and the reason. For a drain, it considers only the attributions of the burst or only those of the
// baseline, depending on the objective. It prefers an attribution for the objective's operation. Otherwise, it accepts
// the only attribution that is left in two cases: the objective names no operation, or the attribution covers all
// operations together and the target performed only the objective's operation, apart from syncs.
func attributionOf(o *v1alpha1.Objective, target *v1alpha1.TargetResult) (found *v1alpha1.Attribution, missing string) {
	burst := o.Ratio.Of == "DocumentedBurst"
	var candidates []*v1alpha1.Attribution
	for i := range target.Attributions {
		one := &target.Attributions[i]
		if one.Level != "" && (one.Level == v1alpha1.LevelBurst) != burst {
			continue
		}
		if one.Operation == o.Operation {
			return one, ""
		}
		candidates = append(candidates, one)
	}
	if len(candidates) != 1 {
		return nil, "no documented limit: set the target's documented field"
	}
	if o.Operation == "" {
		return candidates[0], ""
	}
	var names []v1alpha1.Operation
	for i := range target.Operations {
		names = append(names, target.Operations[i].Operation)
	}
	if at, missing := chosen(names, ""); candidates[0].Operation == "" && missing == "" && names[at] == o.Operation {
		return candidates[0], ""
	}
	applies := "all operations together"
	if other := candidates[0].Operation; other != "" {
		applies = strings.ToLower(string(other)) + " operations"
	}
	return nil, "the documented limit applies to " + applies + ": remove operation"
}
