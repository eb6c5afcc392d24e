package result

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// maxDriftPermille is the largest relative difference between the first measurement of a cell and its repetition, in
// thousandths, without a warning.
const maxDriftPermille = 100

// judgeDrift warns if the repetition of a cell differs from its first measurement by more than maxDriftPermille.
func judgeDrift(phase *v1alpha1.Phase, into *v1alpha1.TargetResult) {
	into.Warnings = slices.DeleteFunc(into.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningSweepDrift })
	var most *v1alpha1.StepResult
	for i := range into.Steps {
		step := &into.Steps[i]
		if step.DriftPermille == nil || *step.DriftPermille <= maxDriftPermille {
			continue
		}
		addType(step, v1alpha1.WarningSweepDrift, v1alpha1.PhaseSweep)
		if most == nil || *step.DriftPermille > *most.DriftPermille {
			most = step
		}
	}
	if most == nil {
		return
	}
	addWarning(into, v1alpha1.NewWarning(v1alpha1.WarningSweepDrift, v1alpha1.PhaseSweep,
		fmt.Sprintf("%s differs by up to %s when measured again: the storage changed during the sweep, so cells cannot be compared",
			cellNames(phase, []int32{most.Cell}), measure.FormatShare(float64(*most.DriftPermille)/1000))), v1alpha1.PhaseSweep)
}

// kneeOf finds the knee of a ramp in the total bytes per second, or in the operations per second if no bytes are moved.
// It omits steps without a result or with a disqualifying warning.
func kneeOf(ramp *v1alpha1.RampPhase, steps []v1alpha1.StepResult) *v1alpha1.KneeResult {
	bytes, operations := []detect.Point{}, []detect.Point{}
	left, moved := 0, false
	for _, step := range steps {
		if int(step.Cell) >= len(ramp.Steps) || len(step.Operations) == 0 || step.Disqualified() {
			left++
			continue
		}
		rate, iops, _ := phasekind.Total(step.Operations)
		moved = moved || rate.Value > 0
		load := float64(ramp.Steps[step.Cell])
		bytes = append(bytes, detect.Point{Load: load, Rate: float64(rate.Value)})
		operations = append(operations, detect.Point{Load: load, Rate: float64(iops.Value) / 1000})
	}
	points, format := bytes, measure.FormatBytesPerSecond
	if !moved {
		points, format = operations, measure.FormatOperationsPerSecond
	}
	return kneeIn(points, left, phasekind.DimensionName(ramp.Dimension), format)
}

// kneeIn finds the knee of a curve. dimension is the term for the load in the message, such as "queue depth". left is
// the number of steps that were omitted because they have no valid result.
func kneeIn(points []detect.Point, left int, dimension string, format func(float64) string) *v1alpha1.KneeResult {
	var says []string
	if left > 0 {
		says = append(says, "omitted "+measure.FormatCount(left, "step")+" without a valid result")
	}
	knee := v1alpha1.KneeResult{}
	found, err := detect.FindKnee(points)
	switch {
	case len(points) < detect.LeastKneePoints:
		says = append(says, fmt.Sprintf("a knee needs at least %d steps; there are %d", detect.LeastKneePoints, len(points)))
	case err != nil:
		says = append(says, err.Error())
	default:
		says = append(says, kneeText(found, dimension, format)...)
		notSeen := func(w detect.Warning) bool { return w.Kind == detect.WarnPlateauNotSeen }
		if !slices.ContainsFunc(found.Warnings, notSeen) {
			knee.ValueAt95Percent = new(measure.Round(found.Enough.Value))
		}
		if found.Knee != nil {
			knee.Found, knee.Value = true, new(measure.Round(found.Knee.Value))
		}
	}
	knee.Message = v1alpha1.Truncate(strings.Join(says, "; "), maxBurstMessage)
	return &knee
}

// kneeText describes the figures of a knee with their uncertainty.
func kneeText(found detect.KneeResult, dimension string, format func(float64) string) []string {
	interval := func(e detect.Estimate, write func(float64) string) string {
		if !(e.High > e.Low) || math.IsInf(e.High, 1) {
			return ""
		}
		return " (between " + write(e.Low) + " and " + write(e.High) + ")"
	}
	load := func(value float64) string { return strconv.FormatFloat(math.Round(value*10)/10, 'f', -1, 64) }
	var says []string
	if found.Knee != nil {
		says = append(says, "the curve bends most at "+dimension+" "+load(found.Knee.Value)+interval(*found.Knee, load))
	}
	says = append(says, "95 % of the plateau of "+format(found.Plateau.Value)+interval(found.Plateau, format)+
		" is reached at "+dimension+" "+load(found.Enough.Value)+interval(found.Enough, load))
	if law := found.Scalability; law != nil && law.Most != nil {
		says = append(says, "the scalability law, with an error of "+measure.FormatShare(law.Error)+", puts the maximum at "+load(law.Most.Value)+interval(*law.Most, load))
	}
	for _, warning := range found.Warnings {
		says = append(says, warning.Message)
	}
	return says
}
