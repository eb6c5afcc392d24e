package report

import (
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Marks that follow figures in a comparison of two targets.
const (
	markBetter = "*"
	markSame   = "="
)

// pairOf returns the two targets of a phase. It returns false if the phase does not have exactly two targets, or if
// they cannot be compared. It recomputes the comparison from the figures, because a stored result may omit it to save
// space.
func pairOf(d Document, phase *v1alpha1.PhaseResult) (*compare.Pair, bool) {
	if len(phase.Targets) != 2 {
		return nil, false
	}
	pair := pairWith(d, phase, 1)
	made := pair.Compare()
	return pair, made.Invalid == ""
}

// pairWith pairs the first target of a phase with another one.
func pairWith(d Document, phase *v1alpha1.PhaseResult, other int) *compare.Pair {
	spec := d.Spec.Run.Phase(phase.Name)
	return &compare.Pair{Kind: phase.Kind, Baseline: &phase.Targets[0], Target: &phase.Targets[other],
		BaselineClosed: compare.Closed(&d.Spec.Run, spec, phase.Targets[0].Target), TargetClosed: compare.Closed(&d.Spec.Run, spec, phase.Targets[other].Target)}
}

// judged compares one figure of two cells. It returns false if the cells cannot be compared.
type judged func(pair *compare.Pair, baseline, target *v1alpha1.StepResult) (compare.Difference, bool)

// pairColumn is a column of a matrix. It shows the same figure of a different cell in each row.
type pairColumn struct {
	title string
	// cell returns the index of the cell that this column shows in the given row.
	cell   func(row int) int32
	figure figureOf
}

// pairMatrix writes the matrices of two targets side by side, or one below the other if they are too wide. It marks the
// better cell of each pair. corner is the heading of the column with the row names.
func (p *page) pairMatrix(pair *compare.Pair, title, corner string, rows []string, columns []pairColumn) {
	sides := [2][][]string{}
	for side := range sides {
		heading := []string{corner}
		for _, c := range columns {
			heading = append(heading, c.title+" ")
		}
		sides[side] = [][]string{heading}
		for row, name := range rows {
			line := []string{name}
			for _, c := range columns {
				line = append(line, pairCell(pair, c, row, side))
			}
			sides[side] = append(sides[side], line)
		}
	}
	mixed := slices.ContainsFunc(columns, func(c pairColumn) bool { return c.figure.title != columns[0].figure.title })
	names := [2]string{printable(pair.Baseline.Target), printable(pair.Target.Target)}
	made := part{text: title, nested: true, spaced: true}
	for side, lines := range sides {
		made.tables = append(made.tables, partTable{name: names[side], lines: lines, left: 1, matrix: true, mixed: mixed})
	}
	p.take(made)
}

// pairCell returns the figure of one of the two targets, followed by its mark.
func pairCell(pair *compare.Pair, column pairColumn, row, side int) string {
	cells := [2]*v1alpha1.StepResult{compare.CellOf(pair.Baseline.Steps, column.cell(row)), compare.CellOf(pair.Target.Steps, column.cell(row))}
	cell := cells[side]
	if cell == nil {
		return absent + " "
	}
	text := column.figure.cell(*cell)
	if !pair.Usable(cell) && text != absent {
		return text + "!"
	}
	difference, ok := column.figure.judge(pair, cells[0], cells[1])
	better := map[int]compare.Verdict{0: compare.BaselineBetter, 1: compare.OtherBetter}[side]
	switch {
	case ok && difference.Verdict == better:
		return text + markBetter
	case ok && difference.Verdict == compare.NoDifference:
		return text + markSame
	}
	return text + " "
}

// pairLegend explains the marks.
func pairLegend(pair *compare.Pair) string {
	return markBetter + " marks the better of two " + phasekind.Of(pair.Kind).Cell + "s; " + markSame + " marks both if chance can explain the difference (95 % interval)" +
		driftLegend(pair) + "."
}

// driftLegend returns the part of the legend about repeated cells: a difference between the targets counts only if it
// is larger than the drift between a cell and its repetition. It returns "" if no cell was repeated.
func driftLegend(pair *compare.Pair) string {
	if slices.ContainsFunc(bothSteps(pair), func(s v1alpha1.StepResult) bool { return s.DriftPermille != nil }) {
		return ", or if it is not larger than the drift of the repeated cell"
	}
	return ""
}

// countText states in how many cells each target is faster.
func countText(pair *compare.Pair) string {
	what := phasekind.Of(pair.Kind).Cell
	count := pair.Compare().Cells
	if count == nil || count.Compared == 0 {
		return "No " + what + " has a valid result for both targets"
	}
	text := fmt.Sprintf("%s is faster in %d of %s, %s in %d, no clear difference in %d", pair.Target.Target, count.TargetBetter, measure.FormatCount(int(count.Compared), what),
		pair.Baseline.Target, count.BaselineBetter, count.NoDifference)
	if count.NotJudged > 0 {
		text += fmt.Sprintf(", %d not evaluated", count.NotJudged)
	}
	if count.Omitted > 0 {
		text += fmt.Sprintf("; %d omitted: a target has no valid result or lost clients", count.Omitted)
	}
	return text
}
