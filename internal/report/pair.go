package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
)

// The marks of two targets beside each other.
const (
	markBetter = "*"
	markSame   = "="
)

// pairOf is a phase's two targets, where there are two and they can be compared. What a record says of it may have been cut
// for room; it follows from the figures.
func pairOf(d Document, phase *v1alpha1.PhaseResult) (*compare.Pair, bool) {
	if len(phase.Targets) != 2 {
		return nil, false
	}
	pair := pairWith(d, phase, 1)
	made := pair.Compare()
	return pair, made.Invalid == ""
}

// pairWith is the first target of a phase and another one.
func pairWith(d Document, phase *v1alpha1.PhaseResult, other int) *compare.Pair {
	spec := phaseSpec(d, phase.Name)
	return &compare.Pair{Kind: phase.Kind, Baseline: &phase.Targets[0], Target: &phase.Targets[other],
		BaselineClosed: compare.Closed(&d.Spec.Run, spec, phase.Targets[0].Target), TargetClosed: compare.Closed(&d.Spec.Run, spec, phase.Targets[other].Target)}
}

// judged compares two cells by one figure.
type judged func(pair *compare.Pair, baseline, target *v1alpha1.StepResult) (compare.Difference, bool)

// pairColumn is one column of a matrix: a figure of the cells of a row.
type pairColumn struct {
	title string
	// cell is the index of a row's cell.
	cell   func(row int) int32
	figure figureOf
}

// pairMatrix writes the same matrix of two targets beside each other, or below each other where that is too wide, with
// the better one of each two cells marked. corner names the rows, whose names are rows.
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
	names := [2]string{printable(pair.Baseline.Target), printable(pair.Target.Target)}
	if p.parts != nil {
		made := part{text: title}
		for side, lines := range sides {
			made.tables = append(made.tables, partTable{name: names[side], lines: trimmed(lines), left: 1, matrix: true})
		}
		p.take(made)
		return
	}
	p.WriteString("\n")
	if title != "" {
		p.line("    ", title)
	}
	if !p.beside(names, sides) {
		for side, lines := range sides {
			p.line("    ", names[side]+":")
			p.columns("    ", lines, 1)
		}
	}
}

// pairCell is a figure of one side with its mark.
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

// beside writes two tables with the same rows next to each other, each under its name; false where they do not fit.
func (p *page) beside(names [2]string, sides [2][][]string) bool {
	lines := slices.Clone(sides[0])
	first := len(lines[0]) // where the second side begins
	for i := range lines {
		lines[i] = slices.Concat(lines[i], sides[1][i][1:])
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	const indent, gap, between = 4, 2, 2
	second, full := indent, indent
	for i, w := range widths {
		if i < first {
			second += w + gap
		}
		full += w + gap
	}
	if full+between-gap > width || second-indent-widths[0]-gap < utf8.RuneCountInString(names[0])+gap {
		return false
	}
	for i := range lines {
		// A little more room between the two.
		lines[i][first] = strings.Repeat(" ", between) + fmt.Sprintf("%*s", widths[first], lines[i][first])
	}
	start := indent + widths[0] + gap
	p.WriteString(strings.Repeat(" ", start) + names[0] + strings.Repeat(" ", second+between-start-utf8.RuneCountInString(names[0])) + names[1] + "\n")
	p.columns("    ", lines, 1)
	return true
}

// pairLegend explains the marks.
func pairLegend(pair *compare.Pair) string {
	what := "cell"
	if pair.Kind == v1alpha1.PhaseRamp {
		what = "step"
	}
	return "Of two " + what + "s " + markBetter + " is the better one; " + markSame + " marks both where the difference may be chance (95 % interval)" + driftLegend(pair) + ". " +
		countText(pair, what) + "."
}

// driftLegend says what else is no difference.
func driftLegend(pair *compare.Pair) string {
	if slices.ContainsFunc(bothSteps(pair), func(s v1alpha1.StepResult) bool { return s.DriftPermille != nil }) {
		return ", or is no larger than that of the cell that was measured again"
	}
	return ""
}

// countText says in how many cells which target moved more.
func countText(pair *compare.Pair, what string) string {
	count := pair.Compare().Cells
	if count == nil || count.Compared == 0 {
		return "No " + what + " of both has a valid result"
	}
	text := fmt.Sprintf("%s is faster in %d of %s, %s in %d, %d within chance", pair.Target.Target, count.TargetBetter, plural(int(count.Compared), what),
		pair.Baseline.Target, count.BaselineBetter, count.NoDifference)
	if count.NotJudged > 0 {
		text += fmt.Sprintf(", %d not judged", count.NotJudged)
	}
	if count.Omitted > 0 {
		text += fmt.Sprintf("; %d left out, of which one or both have no valid result", count.Omitted)
	}
	return text
}
