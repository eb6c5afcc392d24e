package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// ramps writes a table of the steps of each ramp, with the knee marked.
func (p *page) ramps(d Document, phases []v1alpha1.PhaseResult) {
	for _, phase := range phases {
		spec := d.Spec.Run.Phase(phase.Name)
		if spec == nil || spec.Ramp == nil {
			continue
		}
		if pair, ok := pairOf(d, &phase); ok {
			p.rampPair(phase.Name, spec.Ramp, pair)
			continue
		}
		for i := range phase.Targets {
			p.ramp(where(d, &phase, &phase.Targets[i]), spec.Ramp, &phase.Targets[i])
		}
	}
}

func (p *page) ramp(where string, ramp *v1alpha1.RampPhase, target *v1alpha1.TargetResult) {
	only := axisOf(ramp)
	p.gap()
	p.line(where + ": a ramp of " + only.name + creditRange(target.Steps))
	p.cellTable(only, target.Steps, target.Knee)
	if target.Knee != nil && target.Knee.Message != "" {
		p.nested(target.Knee.Message)
	}
}

// axisOf returns the axis of a ramp.
func axisOf(ramp *v1alpha1.RampPhase) axis {
	only := axis{name: rampName(ramp.Dimension), stride: 1}
	for _, value := range ramp.Steps {
		only.values = append(only.values, strconv.FormatInt(value, 10))
	}
	return only
}

// cellTable writes a table of the cells along one axis, with the knee marked.
func (p *page) cellTable(only axis, steps []v1alpha1.StepResult, knee *v1alpha1.KneeResult) {
	lines := [][]string{{strings.ToUpper(only.name), "OPERATION", "THROUGHPUT", "IOPS", "MEAN", "P99", ""}}
	for i, value := range only.values {
		step := stepOf(steps, i*only.stride)
		lines = append(lines, cellRows([]string{value}, step.Operations, cellFigures, marks(knee, value, step))...)
	}
	p.nestedColumns(leftLast(lines), 2)
}

// rampName names the setting that a ramp increases, such as the queue depth.
func rampName(dimension v1alpha1.RampDimension) string {
	return printable(phasekind.DimensionName(dimension))
}

// leftLast pads the cells of the last column to the same width. They are text and should appear left-aligned, but
// page.columns right-aligns the last column.
func leftLast(lines [][]string) [][]string {
	widest := 0
	for _, line := range lines {
		widest = max(widest, len([]rune(line[len(line)-1])))
	}
	for _, line := range lines {
		last := &line[len(line)-1]
		*last += strings.Repeat(" ", widest-len([]rune(*last)))
	}
	return lines
}

// marks returns the remarks on a cell: whether it is the knee, reaches 95 % of the plateau, or is not valid.
func marks(knee *v1alpha1.KneeResult, value string, step v1alpha1.StepResult) string {
	var all []string
	if knee != nil && knee.Found && knee.Value != nil && strconv.FormatInt(*knee.Value, 10) == value {
		all = append(all, "knee")
	}
	if knee != nil && knee.ValueAt95Percent != nil && strconv.FormatInt(*knee.ValueAt95Percent, 10) == value {
		all = append(all, "95 % of the plateau")
	}
	if step.Disqualified() {
		all = append(all, "NOT VALID")
	}
	if len(all) == 0 {
		return ""
	}
	return "<- " + strings.Join(all, ", ")
}

// cellRows returns the table rows of a cell: one row per operation, with the figures that the function figures returns.
// A cell without operations has one row of dashes. The names that identify the cell, and its mark, appear only in the
// first row.
func cellRows(
	names []string, operations []v1alpha1.StepOperation, figures func(v1alpha1.StepOperation) []string, mark string,
) [][]string {
	if len(operations) == 0 {
		return [][]string{append(names, absent, absent, absent, absent, absent, mark)}
	}
	var rows [][]string
	for _, o := range operations {
		rows = append(rows, slices.Concat(names, []string{printable(string(o.Operation))}, figures(o), []string{mark}))
		names, mark = make([]string, len(names)), ""
	}
	return rows
}

// cellFigures returns throughput, IOPS, mean latency and p99 latency.
func cellFigures(o v1alpha1.StepOperation) []string {
	cells := []string{absent, absent, absent, latencyText(o.P99Nanoseconds)}
	if o.Counted() {
		cells[1] = iopsOf(float64(o.IOPSMilli) / 1000)
	}
	if o.Operation.MovesData() {
		cells[0] = rateText(o.BytesPerSecond)
	}
	if o.MeanNanoseconds > 0 {
		cells[2] = latencyText(&o.MeanNanoseconds)
	}
	return cells
}

// creditRange describes the lowest and highest fill level of the credit bucket at the start or end of a step. It
// returns "" if they are unknown.
func creditRange(steps []v1alpha1.StepResult) string {
	least, most := int32(101), int32(-1)
	for _, step := range steps {
		for _, percent := range []*int32{step.CreditPercentAtStart, step.CreditPercentAtEnd} {
			if percent != nil {
				least, most = min(least, *percent), max(most, *percent)
			}
		}
	}
	if most < 0 {
		return ""
	}
	return ", with the bucket " + strconv.Itoa(int(least)) + " to " + strconv.Itoa(int(most)) + " % full"
}
