package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
)

// axis is one axis of a sweep.
type axis struct {
	name   string
	values []string
	// stride is how far apart two neighbours on it are in the index of cells.
	stride int
}

// axesOf are the axes that were given, in the order of the index, the last one changing fastest.
func axesOf(axes v1alpha1.SweepAxes) []axis {
	numbers := func(name string, values []int32) axis {
		a := axis{name: name}
		for _, value := range values {
			a.values = append(a.values, strconv.Itoa(int(value)))
		}
		return a
	}
	sizes := axis{name: "block size"}
	for _, value := range axes.BlockSize {
		sizes.values = append(sizes.values, printable(value.String()))
	}
	all := []axis{numbers("clients", axes.Clients), numbers("jobs", axes.Jobs), numbers("queue depth", axes.QueueDepth),
		sizes, numbers("% reads", axes.ReadPercent)}
	all = slices.DeleteFunc(all, func(a axis) bool { return len(a.values) == 0 })
	stride := 1
	for i := len(all) - 1; i >= 0; i-- {
		all[i].stride = stride
		stride *= len(all[i].values)
	}
	return all
}

// sweeps are the matrices of sweeps.
func (p *page) sweeps(d Document) {
	for _, phase := range d.Phases {
		spec := phaseSpec(d, phase.Name)
		if phase.Kind != v1alpha1.PhaseSweep || spec == nil || spec.Sweep == nil {
			continue
		}
		if pair, ok := pairOf(d, &phase); ok && cells(axesOf(spec.Sweep.Axes)) <= maxCells {
			p.sweepPair(phase.Name, spec.Sweep, pair)
			continue
		}
		for i := range phase.Targets {
			target := &phase.Targets[i]
			p.WriteString("\n")
			title := where(d, phase, target) + ": a sweep"
			if spec.Sweep.Regime != "" {
				title += " in the regime " + string(spec.Sweep.Regime)
			}
			p.line("  ", title+creditRange(target.Steps)+driftText(target.Steps))
			axes := axesOf(spec.Sweep.Axes)
			if cells(axes) > maxCells {
				p.line("    ", "it has more cells than can be")
				continue
			}
			p.sweep(axes, target.Steps)
		}
	}
}

// maxCells of the API.
const maxCells = 256

// cells is the number of all combinations, or some number over maxCells.
func cells(axes []axis) int {
	product := 1
	for _, a := range axes {
		if product *= min(len(a.values), maxCells+1); product > maxCells {
			return product
		}
	}
	return product
}

func driftText(steps []v1alpha1.StepResult) string {
	for _, step := range steps {
		if step.DriftPermille != nil {
			return fmt.Sprintf("; the cell that was measured again differed by up to %d.%d %%", *step.DriftPermille/10, *step.DriftPermille%10)
		}
	}
	return ""
}

// figureOf is one matrix: a figure of one operation, or of all together.
type figureOf struct {
	title string
	cell  func(v1alpha1.StepResult) string
	judge judged
}

// sweep writes a block for each combination of the axes that are not rows or columns, and in it a matrix a
// figure: rows are the longest axis, columns the next. With one axis all figures share one table.
func (p *page) sweep(axes []axis, steps []v1alpha1.StepResult) {
	byLength := longestFirst(axes)
	if len(byLength) == 0 {
		return
	}
	if len(byLength) == 1 || len(byLength[1].values) == 1 {
		p.sweepLine(byLength[0], byLength[1:], steps)
		return
	}
	rows, columns := byLength[0], byLength[1]
	for _, block := range blocks(without(axes, rows, columns)) {
		for _, figure := range figuresIn(steps) {
			lines, some := [][]string{append([]string{rows.name + " \\ " + columns.name}, columns.values...)}, false
			for i, value := range rows.values {
				line := []string{value}
				for j := range columns.values {
					text := cellText(steps, block.cell+i*rows.stride+j*columns.stride, figure)
					some = some || text != absent
					line = append(line, text)
				}
				lines = append(lines, line)
			}
			if !some {
				continue
			}
			p.matrix(block.title(figure.title), lines)
		}
	}
	p.WriteString("\n")
	p.line("    ", order(axes)+sweepMarks(steps))
}

// matrix writes a figure of all combinations of two axes.
func (p *page) matrix(title string, lines [][]string) {
	if p.parts != nil {
		p.take(part{text: title, tables: []partTable{{lines: trimmed(lines), left: 1, matrix: true}}})
		return
	}
	p.WriteString("\n")
	p.line("    ", title)
	p.columns("    ", lines, 1)
}

func longestFirst(axes []axis) []axis {
	byLength := slices.Clone(axes)
	slices.SortStableFunc(byLength, func(a, b axis) int { return cmp.Compare(len(b.values), len(a.values)) })
	return byLength
}

// without are the axes but two.
func without(axes []axis, rows, columns axis) []axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a axis) bool { return a.name == rows.name || a.name == columns.name })
}

// order says how cells are counted.
func order(axes []axis) string {
	var names []string
	for _, a := range axes {
		names = append(names, a.name)
	}
	return "Cells count from 0 over " + strings.Join(names, ", ") + ", the last one changing fastest."
}

// sweepLine is the table of a sweep of one axis; the others have one value each.
func (p *page) sweepLine(only axis, fixed []axis, steps []v1alpha1.StepResult) {
	if names := fixedText(fixed); names != "" {
		p.line("    ", names)
	}
	p.WriteString("\n")
	lines := [][]string{{strings.ToUpper(only.name), "OPERATION", "THROUGHPUT", "IOPS", "MEAN", "P99", ""}}
	for i, value := range only.values {
		step := stepOf(steps, i*only.stride)
		mark := ""
		if invalid(step, v1alpha1.PhaseSweep) {
			mark = "<- NOT VALID"
		}
		lines = append(lines, cellRows(value, step, mark)...)
	}
	p.columns("    ", leftLast(lines), 2)
}

// fixedText names the axes of one value.
func fixedText(fixed []axis) string {
	var names []string
	for _, a := range fixed {
		names = append(names, a.name+" "+a.values[0])
	}
	return strings.Join(names, ", ")
}

// sweepMarks explains the mark of cells that are not valid, where there are any.
func sweepMarks(steps []v1alpha1.StepResult) string {
	if slices.ContainsFunc(steps, func(s v1alpha1.StepResult) bool { return invalid(s, v1alpha1.PhaseSweep) }) {
		return " ! is a cell whose figures do not measure what was asked for."
	}
	return ""
}

// block is a combination of the axes that are not in a matrix, and the index of its first cell.
type block struct {
	name string
	cell int
}

// title of a figure's matrix in a block.
func (b block) title(figure string) string {
	if b.name == "" {
		return figure
	}
	return figure + " (" + b.name + ")"
}

func blocks(others []axis) []block {
	all := []block{{}}
	for _, a := range others {
		var next []block
		for _, b := range all {
			for i, value := range a.values {
				name := a.name + " " + value
				if a.name == "% reads" {
					name = value + " % reads"
				}
				if b.name != "" {
					name = b.name + ", " + name
				}
				next = append(next, block{name: name, cell: b.cell + i*a.stride})
			}
		}
		all = next
	}
	return all
}

func stepOf(steps []v1alpha1.StepResult, cell int) v1alpha1.StepResult {
	at := slices.IndexFunc(steps, func(s v1alpha1.StepResult) bool { return int(s.Cell) == cell })
	if at < 0 {
		return v1alpha1.StepResult{}
	}
	return steps[at]
}

func cellText(steps []v1alpha1.StepResult, cell int, figure figureOf) string {
	step := stepOf(steps, cell)
	text := figure.cell(step)
	if invalid(step, v1alpha1.PhaseSweep) {
		text += "!"
	}
	return text
}

// figuresIn are the matrices that the cells have figures for. Rates are of all operations together;
// latencies of each alone, because means and percentiles of two cannot be had from theirs.
func figuresIn(steps []v1alpha1.StepResult) []figureOf {
	all := []figureOf{
		{title: "MB/s", judge: (*compare.Pair).CellThroughput, cell: func(s v1alpha1.StepResult) string {
			return total(s, func(o v1alpha1.StepOperation) float64 { return float64(o.BytesPerSecond) }, megabytes)
		}},
		{title: "IOPS", judge: (*compare.Pair).CellIOPS, cell: func(s v1alpha1.StepResult) string {
			return total(s, func(o v1alpha1.StepOperation) float64 { return float64(o.IOPSMilli) / 1000 }, iopsOf)
		}},
	}
	var kinds []v1alpha1.Operation
	for _, step := range steps {
		for _, operation := range step.Operations {
			if !slices.Contains(kinds, operation.Operation) {
				kinds = append(kinds, operation.Operation)
			}
		}
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		of := ""
		if len(kinds) > 1 {
			of = ", " + printable(string(kind))
		}
		pick := func(column int) func(v1alpha1.StepResult) string {
			return func(s v1alpha1.StepResult) string {
				at := slices.IndexFunc(s.Operations, func(o v1alpha1.StepOperation) bool { return o.Operation == kind })
				if at < 0 {
					return absent
				}
				return cellFigures(s.Operations[at])[column]
			}
		}
		judge := func(p99 bool) judged {
			return func(pair *compare.Pair, baseline, target *v1alpha1.StepResult) (compare.Difference, bool) {
				return pair.CellLatency(baseline, target, kind, p99)
			}
		}
		all = append(all, figureOf{"mean latency" + of, pick(2), judge(false)}, figureOf{"p99 latency" + of, pick(3), judge(true)})
	}
	return all
}

// total is the sum over the operations of a cell that move something.
func total(step v1alpha1.StepResult, of func(v1alpha1.StepOperation) float64, format func(float64) string) string {
	sum, some := 0.0, false
	for _, operation := range step.Operations {
		if operation.Operation != v1alpha1.OperationSync {
			sum, some = sum+of(operation), true
		}
	}
	if !some {
		return absent
	}
	return format(sum)
}

// megabytes are of 10^6, without their unit, which the title has.
func megabytes(bytesPerSecond float64) string {
	return strings.TrimSuffix(measure.FormatMegabytesPerSecond(bytesPerSecond), " MB/s")
}

func iopsOf(iops float64) string {
	return strings.TrimSuffix(measure.FormatOperationsPerSecond(iops), " IOPS")
}
