package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// ramps writes the tables of the steps of ramps, with the knee marked.
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
			p.ramp(where(d, phase, &phase.Targets[i]), spec.Ramp, &phase.Targets[i])
		}
	}
}

func (p *page) ramp(where string, ramp *v1alpha1.RampPhase, target *v1alpha1.TargetResult) {
	name := rampName(ramp.Dimension)
	p.gap()
	p.line(where + ": a ramp of " + name + creditRange(target.Steps))
	lines := [][]string{{strings.ToUpper(name), "OPERATION", "THROUGHPUT", "IOPS", "MEAN", "P99", ""}}
	for index, value := range ramp.Steps {
		at := slices.IndexFunc(target.Steps, func(s v1alpha1.StepResult) bool { return int(s.Cell) == index })
		step := v1alpha1.StepResult{}
		if at >= 0 {
			step = target.Steps[at]
		}
		lines = append(lines, cellRows(strconv.FormatInt(value, 10), step, marks(target.Knee, value, step))...)
	}
	p.nestedColumns(leftLast(lines), 2)
	if target.Knee != nil && target.Knee.Message != "" {
		p.nested(target.Knee.Message)
	}
}

// rampName names the dimension that a ramp raises.
func rampName(dimension v1alpha1.RampDimension) string {
	return printable(phasekind.DimensionName(dimension))
}

// leftLast pads the cells of the last column to one width. They are text and should appear left-aligned, but
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

// marks returns the remarks on a step of a ramp: knee, 95 % of the plateau, not valid.
func marks(knee *v1alpha1.KneeResult, value int64, step v1alpha1.StepResult) string {
	var all []string
	if knee != nil && knee.Found && knee.Value != nil && *knee.Value == value {
		all = append(all, "knee")
	}
	if knee != nil && knee.ValueAt95Percent != nil && *knee.ValueAt95Percent == value {
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

// cellRows returns the rows of a step, one per operation, or a row of dashes if it has no figures.
func cellRows(name string, step v1alpha1.StepResult, mark string) [][]string {
	if len(step.Operations) == 0 {
		return [][]string{{name, absent, absent, absent, absent, absent, mark}}
	}
	var rows [][]string
	for i, operation := range step.Operations {
		row := append([]string{name, printable(string(operation.Operation))}, cellFigures(operation)...)
		if i > 0 {
			row[0] = ""
		}
		row = append(row, mark)
		mark = ""
		rows = append(rows, row)
	}
	return rows
}

// cellFigures returns throughput, IOPS, mean latency and p99 latency.
func cellFigures(o v1alpha1.StepOperation) []string {
	cells := []string{absent, iopsOf(float64(o.IOPSMilli) / 1000), absent, absent}
	if o.Operation.MovesData() {
		cells[0] = rateText(o.BytesPerSecond)
	}
	if o.MeanNanoseconds > 0 {
		cells[2] = measure.FormatLatency(uint64(o.MeanNanoseconds))
	}
	if o.P99Nanoseconds != nil {
		cells[3] = measure.FormatLatency(uint64(max(*o.P99Nanoseconds, 0)))
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
	return ", with the bucket from " + strconv.Itoa(int(least)) + " to " + strconv.Itoa(int(most)) + " % full"
}
