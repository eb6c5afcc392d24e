package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
)

// sweepPair writes the results of a sweep of two targets: the matrices of both targets side by side, and the number of
// cells in which each target is faster.
func (p *page) sweepPair(phase string, sweep *v1alpha1.SweepPhase, pair *compare.Pair) {
	p.details(func() { p.sweepMatrices(phase, sweep, pair) })
	p.line(phase + ": " + countText(pair))
}

func (p *page) sweepMatrices(phase string, sweep *v1alpha1.SweepPhase, pair *compare.Pair) {
	title := phase + ": a sweep of " + pair.Baseline.Target + " beside " + pair.Target.Target
	if sweep.Regime != "" {
		title += " in the regime " + string(sweep.Regime)
	}
	p.gap()
	p.line(title)
	for _, target := range []*v1alpha1.TargetResult{pair.Baseline, pair.Target} {
		if text := creditRange(target.Steps) + driftText(target.Steps); text != "" {
			p.nested(target.Target + ": " + strings.TrimLeft(text, ",; "))
		}
	}
	axes := axesOf(sweep.Axes)
	byLength := longestFirst(axes)
	if len(byLength) == 0 {
		return
	}
	if len(byLength) == 1 || len(byLength[1].values) == 1 {
		p.pairLine(pair, byLength[0], fixedText(byLength[1:]))
		p.nested(pairLegend(pair) + sweepMarks(bothSteps(pair)))
		return
	}
	rows, columns := byLength[0], byLength[1]
	for _, block := range blocks(without(axes, rows, columns)) {
		for _, figure := range figuresIn(bothSteps(pair)) {
			figure = figure.inOneUnit(pair, int32(block.cell), rows, columns) //nolint:gosec // The API allows few.
			var listed []pairColumn
			for j, value := range columns.values {
				listed = append(listed, pairColumn{title: value, figure: figure, cell: func(row int) int32 {
					return int32(block.cell + row*rows.stride + j*columns.stride) //nolint:gosec // The API allows few.
				}})
			}
			if someIn(pair, rows.values, listed) {
				p.pairMatrix(pair, block.title(figure.title), rows.name+" \\ "+columns.name, rows.values, listed)
			}
		}
	}
	p.gap()
	p.nested(pairLegend(pair))
	p.nested(order(axes) + sweepMarks(bothSteps(pair)))
}

// inOneUnit moves the unit from the cells to the title if all cells of both matrices have the same unit, so that two
// matrices fit side by side more often.
func (f figureOf) inOneUnit(pair *compare.Pair, first int32, rows, columns axis) figureOf {
	unit := ""
	for i := range rows.values {
		for j := range columns.values {
			for _, steps := range [][]v1alpha1.StepResult{pair.Baseline.Steps, pair.Target.Steps} {
				cell := compare.CellOf(steps, first+int32(i*rows.stride+j*columns.stride)) //nolint:gosec // The API allows few.
				if cell == nil {
					continue
				}
				_, its, found := strings.Cut(f.cell(*cell), " ")
				if !found && f.cell(*cell) != absent || unit != "" && found && its != unit {
					return f
				}
				if found {
					unit = its
				}
			}
		}
	}
	if unit == "" {
		return f
	}
	operation := ""
	if at := strings.Index(f.title, ","); at >= 0 {
		operation = f.title[at:]
	}
	with := f.cell
	return figureOf{title: strings.TrimSuffix(f.title, operation) + " in " + unit + operation, judge: f.judge, cell: func(s v1alpha1.StepResult) string {
		return strings.TrimSuffix(with(s), " "+unit)
	}}
}

func bothSteps(pair *compare.Pair) []v1alpha1.StepResult {
	return slices.Concat(pair.Baseline.Steps, pair.Target.Steps)
}

// someIn reports whether a matrix has any figures.
func someIn(pair *compare.Pair, rows []string, columns []pairColumn) bool {
	for row := range rows {
		for _, column := range columns {
			for _, steps := range [][]v1alpha1.StepResult{pair.Baseline.Steps, pair.Target.Steps} {
				if cell := compare.CellOf(steps, column.cell(row)); cell != nil && column.figure.cell(*cell) != absent {
					return true
				}
			}
		}
	}
	return false
}

// pairLine writes the table of a sweep or ramp with one axis. The table has a column for each figure of each target.
func (p *page) pairLine(pair *compare.Pair, only axis, title string) {
	var columns []pairColumn
	for _, figure := range figuresIn(bothSteps(pair)) {
		title := strings.Replace(figure.title, " latency", "", 1)
		columns = append(columns, pairColumn{title: title, figure: figure, cell: func(row int) int32 { return int32(row * only.stride) }}) //nolint:gosec // The API allows few.
	}
	p.pairMatrix(pair, title, only.name, only.values, columns)
}

// rampPair writes the steps of two targets' ramps side by side, and the knee of each target.
func (p *page) rampPair(phase string, ramp *v1alpha1.RampPhase, pair *compare.Pair) {
	only := axisOf(ramp)
	p.gap()
	p.line(phase + ": a ramp of " + only.name + " of " + pair.Baseline.Target + " beside " + pair.Target.Target)
	p.pairLine(pair, only, "")
	for _, target := range []*v1alpha1.TargetResult{pair.Baseline, pair.Target} {
		text := ""
		if target.Knee != nil {
			text = target.Knee.Message
			if target.Knee.Found && target.Knee.Value != nil {
				text = "knee at " + strconv.FormatInt(*target.Knee.Value, 10) + "; " + text
			}
		}
		if text += creditRange(target.Steps); text != "" {
			p.nested(target.Target + ": " + strings.TrimLeft(text, ", "))
		}
	}
	p.nested(pairLegend(pair))
	p.nested(countText(pair))
}
