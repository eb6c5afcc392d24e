package report

import (
	"slices"
	"strconv"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// neighbours writes the effect of neighbours on each victim and, as details, the rates of the aggressors. If there are
// no aggressors, it writes how evenly the victims share the storage.
func (p *page) neighbours(d Document, phases []v1alpha1.PhaseResult) {
	for _, phase := range phases {
		if !phasekind.Of(phase.Kind).Interleaved {
			continue
		}
		for i := range phase.Targets {
			if target := &phase.Targets[i]; target.Interference != nil {
				p.victim(where(d, &phase, target), target)
			}
		}
		p.details(func() {
			p.nested("Ratios are relative to the blocks without neighbours, paired by repetition; ± is the distance to the farther end of the 95 % interval. " +
				"Percentiles are from the merged histograms of all blocks.")
		})
		if phase.Fairness != nil {
			p.gap()
			p.line(printable(phase.Name) + ": fairness")
			p.nested(phase.Fairness.Message)
		}
		p.details(func() { p.aggressors(phase) })
	}
}

func (p *page) victim(where string, target *v1alpha1.TargetResult) {
	p.gap()
	p.line(where + ": alone and beside neighbours" + creditRange(target.Steps))
	p.nested(printable(target.Interference.Message))
	lines := [][]string{{"NEIGHBOURS", "OPERATION", "THROUGHPUT", "IOPS", "P50", "P99", "RATE RATIO", "P99 RATIO"}}
	for i := range target.Interference.Levels {
		level := &target.Interference.Levels[i]
		name, rate := []string{levelName(level.Neighbours)}, level.RateRatioPPM
		for j := range level.Operations {
			o := &level.Operations[j]
			cells := cellFigures(v1alpha1.StepOperation{Operation: o.Operation, BytesPerSecond: o.BytesPerSecond, IOPSMilli: o.IOPSMilli})
			lines = append(lines, slices.Concat(name, []string{printable(string(o.Operation)), cells[0], cells[1],
				latencyText(o.P50Nanoseconds), latencyText(o.P99Nanoseconds), blockRatio(rate, 3), blockRatio(o.P99RatioPPM, 2)}))
			name, rate = []string{""}, nil
		}
	}
	p.nestedColumns(withoutEmptyColumns(lines, 2), 2)
}

// aggressors writes the rates of the targets that were loaded only as neighbours of victims.
func (p *page) aggressors(phase v1alpha1.PhaseResult) {
	lines := [][]string{{"AGGRESSOR", "NEIGHBOURS", "OPERATION", "THROUGHPUT", "IOPS"}}
	for i := range phase.Targets {
		target := &phase.Targets[i]
		if target.Interference != nil {
			continue
		}
		for _, mean := range meansOf(target.Steps) {
			cells := cellFigures(mean.StepOperation)
			lines = append(lines, []string{printable(target.Target), levelName(mean.neighbours), printable(string(mean.Operation)),
				cells[0], cells[1]})
		}
	}
	if len(lines) > 1 {
		p.gap()
		p.line(printable(phase.Name) + ": aggressors (means over all blocks)")
		p.nestedColumns(lines, 3)
	}
}

// blockMean is the mean rate of an operation over all blocks with the same number of neighbours.
type blockMean struct {
	v1alpha1.StepOperation
	neighbours int32
	blocks     int64
}

func meansOf(steps []v1alpha1.StepResult) []blockMean {
	var all []blockMean
	for i := range steps {
		if steps[i].Neighbours == nil || steps[i].Disqualified() {
			continue
		}
		for _, o := range steps[i].Operations {
			at := slices.IndexFunc(all, func(m blockMean) bool { return m.neighbours == *steps[i].Neighbours && m.Operation == o.Operation })
			if at < 0 {
				at = len(all)
				all = append(all, blockMean{neighbours: *steps[i].Neighbours, StepOperation: v1alpha1.StepOperation{Operation: o.Operation}})
			}
			all[at].BytesPerSecond += o.BytesPerSecond
			all[at].IOPSMilli += o.IOPSMilli
			all[at].blocks++
		}
	}
	for i := range all {
		all[i].BytesPerSecond /= all[i].blocks
		all[i].IOPSMilli /= all[i].blocks
	}
	slices.SortStableFunc(all, func(a, b blockMean) int { return int(a.neighbours - b.neighbours) })
	return all
}

func levelName(neighbours int32) string {
	if neighbours == 0 {
		return "alone"
	}
	return strconv.Itoa(int(neighbours))
}

func latencyText(nanoseconds *int64) string {
	if nanoseconds == nil {
		return absent
	}
	return measure.FormatLatency(uint64(max(*nanoseconds, 0)))
}

// blockRatio formats a ratio with its 95 % interval: the ratio, then ± and the distance to the farther end of the
// interval. If this distance exceeds half the ratio, blockRatio returns only the two ends of the interval. It returns
// "" if there is no ratio.
func blockRatio(ratio *v1alpha1.Estimate, digits int) string {
	if ratio == nil {
		return ""
	}
	text := func(ppm int64) string { return strconv.FormatFloat(float64(ppm)/1e6, 'f', digits, 64) }
	if ratio.Lower == nil || ratio.Upper == nil {
		return text(ratio.Value)
	}
	half := max(*ratio.Upper-ratio.Value, ratio.Value-*ratio.Lower)
	if half > ratio.Value/2 {
		return text(*ratio.Lower) + " to " + text(*ratio.Upper)
	}
	return text(ratio.Value) + " ± " + text(half)
}
