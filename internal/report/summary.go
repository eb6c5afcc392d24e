package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
)

// mostInColumns is how many targets stand in columns of their own; more get lines of their own.
const mostInColumns = 2

// summaryFigure is one figure of a phase on one target.
type summaryFigure struct {
	// name in words; rows of several targets meet by it.
	name string
	// value as text, and the figure that it is in a comparison.
	value     string
	figure    v1alpha1.FigureName
	operation string
	// documented is what the vendor promises of it, and percent how much of that it is; empty where nothing is known.
	documented, percent string
	// heldBack is the likeliest cause of the rate.
	heldBack string
}

// summary is the figures that a run was made for, a few a phase by its kind, at the top. It is left out where it would
// say no more than the table below it.
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
		return // the heading and one figure
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

// summaryOfOne has a line a figure, with what is documented where anything is.
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

// summaryOfSeveral has a column a target, or, of more than fit beside each other, a line.
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
				lines = append(lines, []string{printable(phase.Name), "faster, of " + plural(int(cells.Compared), "cell"), fmt.Sprint(cells.BaselineBetter) + " ", "",
					fmt.Sprint(cells.TargetBetter) + " ", "", cellsLeft(cells)})
			}
		}
	}
	return dropEmptyColumns(lines)
}

// cellsLeft says of how many cells neither target is faster.
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

// summaryMark is that of a target by its place.
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

// dropEmptyColumns leaves out columns without a name in which there is nothing; others say what they are.
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

// summaryRow is a figure of all targets.
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
				at = last + 1 // where this target has it
				rows = slices.Insert(rows, at, summaryRow{name: f.name, figure: f.figure, operation: f.operation, of: slices.Repeat([]summaryFigure{{value: absent}}, len(names))})
			}
			rows[at].of[place], last = f, at
		}
	}
	return rows
}

// summaryFigures are what a phase was for, by its kind.
func summaryFigures(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) []summaryFigure {
	var all []summaryFigure
	add := func(name string, figure v1alpha1.FigureName, operation string, value int64) {
		all = append(all, summaryFigure{name: name, figure: figure, operation: operation, value: figureValue(figure, operation, value)})
	}
	switch {
	case phase.Kind == v1alpha1.PhaseRamp || phase.Kind == v1alpha1.PhaseSweep:
		all = mostOf(d, phase, target)
	case target.Burst != nil:
		all = burstFigures(phase, target)
	case target.Mdtest != nil:
		for _, r := range target.Mdtest.Rates[:min(len(target.Mdtest.Rates), 4)] {
			add(printable(r.Operation), v1alpha1.FigureRate, r.Operation, r.MeanOPSMilli)
		}
	case phase.Kind != v1alpha1.PhasePrepare:
		for i := range target.Operations {
			all = append(all, operationFigures(d, phase.Name, target, &target.Operations[i])...)
		}
		if target.Command != nil {
			add("duration", v1alpha1.FigureDuration, "", target.Command.DurationNanoseconds)
		}
	}
	if target.Usage != nil && target.Usage.CompressionRatioMilli != nil && !toldBefore(d, phase, target) {
		add("compression ratio", v1alpha1.FigureCompressionRatio, "", *target.Usage.CompressionRatioMilli)
	}
	return all
}

// toldBefore reports whether an earlier phase has found the target's files compressed as far.
func toldBefore(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) bool {
	for i := range d.Phases {
		if d.Phases[i].Name == phase.Name {
			return false
		}
		earlier := targetOf(&d.Phases[i], target.Target)
		if earlier.Usage != nil && earlier.Usage.CompressionRatioMilli != nil && *earlier.Usage.CompressionRatioMilli == *target.Usage.CompressionRatioMilli {
			return true
		}
	}
	return false
}

// smallBlock is the size of operations below which their number says more than their bytes.
const smallBlock = 64 << 10

// operationFigures are the rate of an operation, and with small blocks its operations and their mean latency.
func operationFigures(d Document, phase string, target *v1alpha1.TargetResult, o *v1alpha1.OperationResult) []summaryFigure {
	if o.BytesPerSecond == nil || o.IOPSMilli == nil || o.Bytes == 0 {
		return nil // a sync, a trim of nothing, or what a program did not do
	}
	name := strings.ToLower(printable(string(o.Operation)))
	if spec := phaseSpec(d, phase); spec != nil && spec.Expect == v1alpha1.ExpectServerCache && o.Operation == v1alpha1.OperationRead {
		name = "cache read"
	}
	operation := string(o.Operation)
	all := []summaryFigure{{name: name, figure: v1alpha1.FigureThroughput, operation: operation, value: rateText(*o.BytesPerSecond)}}
	all[0].promise(target, *o.BytesPerSecond)
	if target.Command == nil && o.Operations > 0 && o.Bytes/o.Operations < smallBlock && *o.IOPSMilli > 0 {
		all = append(all, summaryFigure{name: name + " IOPS", figure: v1alpha1.FigureIOPS, operation: operation, value: iopsOf(float64(*o.IOPSMilli) / 1000)})
		all[1].promise(target, *o.IOPSMilli)
		if o.Latency != nil {
			all = append(all, summaryFigure{name: name + " mean latency", figure: v1alpha1.FigureMeanLatency, operation: operation,
				value: measure.FormatLatency(uint64(max(o.Latency.MeanNanoseconds, 0)))})
		}
	}
	return all
}

// burstFigures are the levels of a drain, in the dimension that ran out.
func burstFigures(phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) []summaryFigure {
	burst := target.Burst
	series, operation := burst.Bytes, ""
	if burst.Dimension == "Operations" && burst.Operations != nil || series == nil {
		series, operation = burst.Operations, "operations"
	}
	if series == nil {
		return nil
	}
	var all []summaryFigure
	add := func(name string, figure v1alpha1.FigureName, e *v1alpha1.Estimate) {
		if e != nil {
			all = append(all, summaryFigure{name: name, figure: figure, operation: operation, value: figureValue(figure, operation, e.Value)})
			all[len(all)-1].promise(target, e.Value)
		}
	}
	if phase.Kind == v1alpha1.PhaseCooldown {
		if series.RefillSource == "Measured" {
			add("refill", v1alpha1.FigureRefill, series.Refill)
		}
		return all
	}
	if series.Burst != nil && series.Sustained != nil && series.Peak != nil && series.Sustained.Value != series.Peak.Value {
		add("peak burst", v1alpha1.FigurePeak, series.Peak)
		add("sustained burst", v1alpha1.FigureSustained, series.Sustained)
	} else {
		add("burst", v1alpha1.FigureBurst, series.Burst)
	}
	add("baseline", v1alpha1.FigureBaseline, series.Baseline)
	add("time to baseline", v1alpha1.FigureTimeToBaseline, burst.NanosecondsToBaseline)
	return all
}

// mostOf are the best cell of each operation, by what it moved and by how often.
func mostOf(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) []summaryFigure {
	var all []summaryFigure
	for _, operation := range []v1alpha1.Operation{v1alpha1.OperationRead, v1alpha1.OperationWrite} {
		var bytes, operations *v1alpha1.StepOperation
		var at int32
		for i := range target.Steps {
			step := &target.Steps[i]
			if invalid(*step, phase.Kind) {
				continue
			}
			for j := range step.Operations {
				o := &step.Operations[j]
				if o.Operation != operation {
					continue
				}
				if bytes == nil || o.BytesPerSecond > bytes.BytesPerSecond {
					bytes, at = o, step.Cell
				}
				if operations == nil || o.IOPSMilli > operations.IOPSMilli {
					operations = o
				}
			}
		}
		if bytes == nil {
			continue
		}
		name := "most " + strings.ToLower(string(operation))
		value := rateText(bytes.BytesPerSecond)
		if !manyTargets(d) {
			value += cellWords(d, phase.Name, at)
		}
		all = append(all, summaryFigure{name: name, value: value},
			summaryFigure{name: name + " IOPS", value: iopsOf(float64(operations.IOPSMilli) / 1000)})
	}
	return all
}

// cellWords says where a cell is.
func cellWords(d Document, phase string, cell int32) string {
	spec := phaseSpec(d, phase)
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
