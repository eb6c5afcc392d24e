package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// mostInColumns is the number of targets up to which each has a column; if there are more, each has a line.
const mostInColumns = 2

// summaryFigure is one figure of a phase on one target.
type summaryFigure struct {
	// name in words; figures of several targets with the same name share a row.
	name string
	// value as text; figure and operation identify the figure in a comparison.
	value     string
	figure    v1alpha1.FigureName
	operation string
	// documented is the vendor's value of the figure, and percent the share of it that was reached; empty if unknown.
	documented, percent string
	// heldBack is the likeliest cause that limited the rate.
	heldBack string
}

// summary writes, at the top, the few figures that each phase was run for, by its kind. It is left out if there is only
// one figure, because the table below shows it too.
func (p *page) summary(d Document) {
	if len(d.Phases) == 0 {
		return
	}
	lines, left := summaryOfOne(d), 2
	if manyTargets(d) {
		lines = summaryOfSeveral(d)
	}
	if lines[0][2] == "TARGET" {
		left++
	}
	if len(lines) < 3 {
		return // the heading and at most one figure
	}
	p.WriteString("\n")
	p.columns("  ", lines, left)
	if summaryMarked(lines) {
		p.line("  ", markBetter+" is the better one; "+markSame+" marks both where the difference may be chance.")
	}
}

func summaryMarked(lines [][]string) bool {
	return slices.ContainsFunc(lines[1:], func(line []string) bool {
		return slices.ContainsFunc(line[2:], func(cell string) bool {
			return strings.HasSuffix(cell, markBetter) || strings.HasSuffix(cell, markSame)
		})
	})
}

// summaryOfOne returns a line per figure, with columns for documented values and causes if there are any.
func summaryOfOne(d Document) [][]string {
	lines := [][]string{{"PHASE", "FIGURE", "MEASURED", "DOCUMENTED", "PERCENT", "HELD BACK BY"}}
	documented, held := false, false
	for _, phase := range d.Phases {
		for i := range phase.Targets {
			for _, f := range summaryFigures(d, &phase, &phase.Targets[i]) {
				lines = append(lines, []string{printable(phase.Name), f.name, f.value, f.documented, f.percent, f.heldBack})
				documented, held = documented || f.documented != "", held || f.heldBack != ""
			}
		}
	}
	for i := range lines {
		if !held {
			lines[i] = lines[i][:5]
		}
		if !documented {
			lines[i] = slices.Delete(lines[i], 3, 5)
		}
	}
	if held {
		return leftLast(lines)
	}
	return lines
}

// summaryOfSeveral returns a column per target, or a line per target if there are more than mostInColumns.
func summaryOfSeveral(d Document) [][]string {
	names := targetNames(d)
	if len(names) > mostInColumns {
		return summaryOfMany(d)
	}
	heading := []string{"PHASE", "FIGURE"}
	for _, name := range names {
		heading = append(heading, printable(name)+" ", "")
	}
	lines := [][]string{append(heading, "DIFFERENCE")}
	for _, phase := range d.Phases {
		comparisons := compare.Targets(&d.Spec.Run, &phase)
		for _, row := range summaryRows(d, &phase, names) {
			line := []string{printable(phase.Name), row.name}
			verdict, difference := v1alpha1.FigureNotJudged, ""
			for i := range comparisons {
				for j := range comparisons[i].Figures {
					if one := &comparisons[i].Figures[j]; row.figure != "" && one.Figure == row.figure && one.Operation == row.operation {
						verdict, difference = one.Verdict, permilleText(one.DifferencePermille)
					}
				}
			}
			for i, f := range row.of {
				line = append(line, f.value+summaryMark(verdict, i, f.value), f.percent)
			}
			lines = append(lines, append(line, difference))
		}
		for i := range comparisons {
			if cells := comparisons[i].Cells; cells != nil && cells.Compared > 0 {
				lines = append(lines, []string{printable(phase.Name), "faster, of " + measure.FormatCount(int(cells.Compared), "cell"), fmt.Sprint(cells.BaselineBetter) + " ", "",
					fmt.Sprint(cells.TargetBetter) + " ", "", cellsLeft(cells)})
			}
		}
	}
	return dropEmptyColumns(lines)
}

// cellsLeft states in how many cells neither target is shown to be faster.
func cellsLeft(cells *v1alpha1.CellComparison) string {
	var parts []string
	if cells.NoDifference > 0 || cells.NotJudged == 0 {
		parts = append(parts, fmt.Sprintf("%d within chance", cells.NoDifference))
	}
	if cells.NotJudged > 0 {
		parts = append(parts, fmt.Sprintf("%d not judged", cells.NotJudged))
	}
	return strings.Join(parts, ", ")
}

// summaryMark returns the mark of a target by its place: 0 is the baseline, 1 the other target.
func summaryMark(verdict v1alpha1.FigureVerdict, place int, value string) string {
	better := verdict == v1alpha1.FigureBaselineBetter && place == 0 || verdict == v1alpha1.FigureTargetBetter && place == 1
	switch {
	case value == absent:
	case better:
		return markBetter
	case verdict == v1alpha1.FigureNoDifference:
		return markSame
	}
	return " "
}

// dropEmptyColumns removes the columns that are empty below the heading. It names remaining columns without a heading:
// they are shares of documented values.
func dropEmptyColumns(lines [][]string) [][]string {
	for column := len(lines[0]) - 1; column >= 0; column-- {
		if slices.ContainsFunc(lines[1:], func(line []string) bool { return line[column] != "" }) {
			if lines[0][column] == "" {
				lines[0][column] = "OF DOC."
			}
			continue
		}
		for i := range lines {
			lines[i] = slices.Delete(lines[i], column, column+1)
		}
	}
	return lines
}

func summaryOfMany(d Document) [][]string {
	lines := [][]string{{"PHASE", "FIGURE", "TARGET", "MEASURED", "OF DOC."}}
	for _, phase := range d.Phases {
		for _, row := range summaryRows(d, &phase, targetNames(d)) {
			for i, f := range row.of {
				if f.value != absent {
					lines = append(lines, []string{printable(phase.Name), row.name, printable(targetNames(d)[i]), f.value, f.percent})
				}
			}
		}
	}
	return dropEmptyColumns(lines)
}

func targetNames(d Document) []string {
	var names []string
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			if !slices.Contains(names, target.Target) {
				names = append(names, target.Target)
			}
		}
	}
	return names
}

// summaryRow is a figure of all targets, in their order.
type summaryRow struct {
	name, operation string
	figure          v1alpha1.FigureName
	of              []summaryFigure
}

// summaryRows puts the figures of a phase's targets side by side.
func summaryRows(d Document, phase *v1alpha1.PhaseResult, names []string) []summaryRow {
	var rows []summaryRow
	for i := range phase.Targets {
		place, last := slices.Index(names, phase.Targets[i].Target), -1
		for _, f := range summaryFigures(d, phase, &phase.Targets[i]) {
			at := slices.IndexFunc(rows, func(r summaryRow) bool { return r.name == f.name })
			if at < 0 {
				at = last + 1 // keeps the order of this target's figures
				rows = slices.Insert(rows, at, summaryRow{name: f.name, figure: f.figure, operation: f.operation, of: slices.Repeat([]summaryFigure{{value: absent}}, len(names))})
			}
			rows[at].of[place], last = f, at
		}
	}
	return rows
}

// summaryFigures returns the figures that a phase was run for.
func summaryFigures(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) []summaryFigure {
	kind := phasekind.Of(phase.Kind)
	var all []summaryFigure
	for _, f := range kind.Figures(target) {
		if !f.Main || f.Name == v1alpha1.FigureCompressionRatio && toldBefore(d, phase, target) {
			continue
		}
		one := summaryFigure{name: summaryName(d, phase, &f), figure: f.Name, operation: f.Operation, value: figureValue(f.Name, f.Operation, f.Value)}
		if kind.InCells() && f.Name == v1alpha1.FigureThroughput && !manyTargets(d) {
			one.value += cellWords(d, phase.Name, f.Cell)
		}
		one.promise(target, f.Value)
		all = append(all, one)
	}
	return all
}

func summaryName(d Document, phase *v1alpha1.PhaseResult, f *phasekind.Figure) string {
	words, operation := figureNames[f.Name], strings.ToLower(printable(f.Operation))
	switch f.Name {
	case v1alpha1.FigureThroughput:
		words = ""
	case v1alpha1.FigurePeak, v1alpha1.FigureSustained:
		words += " burst"
	case v1alpha1.FigureRate:
		return printable(f.Operation)
	default:
	}
	spec := d.Spec.Run.Phase(phase.Name)
	switch {
	case f.Operation == phasekind.InOperations:
		operation = ""
	case phasekind.Of(phase.Kind).InCells() && operation != "":
		operation = "most " + operation
	case f.Operation == string(v1alpha1.OperationRead) && spec != nil && spec.Expect == v1alpha1.ExpectServerCache:
		operation = "cache read"
	}
	return strings.TrimSpace(operation + " " + words)
}

// toldBefore reports whether the summary already shows the same compression ratio of the target's files for an earlier
// phase.
func toldBefore(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) bool {
	for i := range d.Phases {
		if d.Phases[i].Name == phase.Name {
			return false
		}
		earlier := d.Phases[i].Target(target.Target)
		if earlier != nil && earlier.Usage != nil && earlier.Usage.CompressionRatioMilli != nil && *earlier.Usage.CompressionRatioMilli == *target.Usage.CompressionRatioMilli {
			return true
		}
	}
	return false
}

// cellWords describes the place of a cell in its ramp or sweep.
func cellWords(d Document, phase string, cell int32) string {
	spec := d.Spec.Run.Phase(phase)
	switch {
	case spec == nil:
	case spec.Ramp != nil && int(cell) < len(spec.Ramp.Steps):
		return fmt.Sprintf(" at %s %d", rampName(spec.Ramp.Dimension), spec.Ramp.Steps[cell])
	case spec.Sweep != nil:
		var words []string
		for _, a := range axesOf(spec.Sweep.Axes) {
			words = append(words, a.name+" "+a.values[int(cell)/a.stride%len(a.values)])
		}
		return " at " + strings.Join(words, ", ")
	}
	return ""
}
