package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

// burstCredits is the title of the report block for drains, which empty the bucket, and cooldowns, which let it refill.
const burstCredits = "Burst credits"

// burstDrain loads a target until its credits are spent.
var burstDrain = Kind{
	Label:   "drain",
	Limited: true,
	Block:   burstCredits,
	figures: func(result *v1alpha1.TargetResult) []Figure {
		all := Levels(result.Burst)
		markDrain(all)
		return all
	},
	overall: func(result *v1alpha1.TargetResult) Overall {
		return overallOf("burst", Levels(result.Burst), v1alpha1.FigureBurst)
	},
}

// markDrain marks the main figures of a drain: the burst, the baseline, the time to baseline and the credits spent, in
// the dimension (bytes or operations) whose credits ran out. If the burst alternates between two levels, it marks the
// two levels instead of the burst, which is their mean.
func markDrain(all []Figure) {
	if len(all) == 0 {
		return
	}
	of := all[0].Operation
	alternates := Alternates(all, of)
	for i := range all {
		f := &all[i]
		if f.Operation != of {
			continue
		}
		switch f.Name {
		case v1alpha1.FigureBurst:
			f.Main = !alternates
		case v1alpha1.FigurePeak, v1alpha1.FigureSustained:
			f.Main = alternates
		case v1alpha1.FigureBaseline, v1alpha1.FigureTimeToBaseline, v1alpha1.FigureSpent:
			f.Main = true
		default:
		}
	}
}

// Alternates reports whether a burst alternates between two levels.
func Alternates(figures []Figure, operation string) bool {
	sustained, peak := Find(figures, v1alpha1.FigureSustained, operation), Find(figures, v1alpha1.FigurePeak, operation)
	return sustained != nil && peak != nil && sustained.Value != peak.Value
}

// MainSeries returns the series of the dimension (bytes or operations) whose credits ran out. If that dimension is
// unknown, it returns the series of bytes or, if there is none, the series of operations. It returns nil if the result
// has no series. operation is the value of Figure.Operation for figures of the series.
func MainSeries(burst *v1alpha1.BurstResult) (series *v1alpha1.BurstSeries, operation string) {
	switch {
	case burst == nil:
		return nil, ""
	case burst.Operations != nil && (burst.Dimension == "Operations" || burst.Bytes == nil):
		return burst.Operations, InOperations
	}
	return burst.Bytes, ""
}

// Levels returns the figures of a drain, such as the burst, the baseline and the credits spent; the figures of
// MainSeries come first. If the burst did not end, there is no baseline. The refill is included only if the drain
// measured it.
func Levels(burst *v1alpha1.BurstResult) []Figure {
	series, operation := MainSeries(burst)
	if series == nil {
		return nil
	}
	all := levelsOf(burst, series, operation)
	if operation == "" {
		return append(all, levelsOf(burst, burst.Operations, InOperations)...)
	}
	return append(all, levelsOf(burst, burst.Bytes, "")...)
}

func levelsOf(burst *v1alpha1.BurstResult, series *v1alpha1.BurstSeries, operation string) []Figure {
	if series == nil {
		return nil
	}
	var all []Figure
	add := func(name v1alpha1.FigureName, estimate *v1alpha1.Estimate, known bool) {
		if estimate != nil && known {
			all = append(all, Figure{Name: name, Operation: operation, Estimate: *estimate})
		}
	}
	add(v1alpha1.FigureBurst, series.Burst, true)
	add(v1alpha1.FigurePeak, series.Peak, true)
	add(v1alpha1.FigureSustained, series.Sustained, true)
	add(v1alpha1.FigureBaseline, series.Baseline, burst.Exhausted)
	add(v1alpha1.FigureTimeToBaseline, burst.NanosecondsToBaseline, burst.Exhausted)
	if last := len(series.Drops) - 1; last >= 0 {
		add(v1alpha1.FigureSpent, series.Drops[last].Spent, burst.Exhausted)
	}
	add(v1alpha1.FigureRefill, series.Refill, series.RefillSource == "Measured" && !EarlierRefill(burst, series))
	return all
}

// EarlierRefill reports whether the refill of a series was measured by an earlier phase. The drain used this refill to
// compute the credits spent. Only a drain after a pause measures the refill itself.
func EarlierRefill(burst *v1alpha1.BurstResult, series *v1alpha1.BurstSeries) bool {
	return series.RefillSource == "Measured" && burst.IdleNanoseconds == nil
}
