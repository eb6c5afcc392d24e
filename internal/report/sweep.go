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
	"github.com/storagebench/storagebench/internal/phasekind"
)

// axis is an axis of a sweep, or the steps of a ramp.
type axis struct {
	name   string
	values []string
	// stride is the difference in cell index between successive values of this axis.
	stride int
}

// axesOf returns the axes of a sweep that have values. Cells are numbered in the order of these axes, with the last
// axis changing fastest.
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

// sweeps writes the matrices of all sweeps.
func (p *page) sweeps(d Document, phases []v1alpha1.PhaseResult) {
	for _, phase := range phases {
		spec := d.Spec.Run.Phase(phase.Name)
		if spec == nil || spec.Sweep == nil {
			continue
		}
		if pair, ok := pairOf(d, &phase); ok && cells(axesOf(spec.Sweep.Axes)) <= maxCells {
			p.sweepPair(phase.Name, spec.Sweep, pair)
			continue
		}
		p.details(func() {
			for i := range phase.Targets {
				p.sweep(where(d, &phase, &phase.Targets[i]), spec.Sweep, phase.Targets[i].Steps)
			}
		})
	}
}

// maxCells is the API's limit for the cells of a sweep.
const maxCells = 256

// cells returns the number of combinations of the axes' values. It stops counting above maxCells, so a larger result
// means only that there are more than maxCells combinations.
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
			return fmt.Sprintf("; the repeated cell differed by up to %d.%d %%", *step.DriftPermille/10, *step.DriftPermille%10)
		}
	}
	return ""
}

// figureOf is a figure that a matrix shows. It covers either one operation or all operations together.
type figureOf struct {
	title string
	cell  func(v1alpha1.StepResult) string
	judge judged
}

// sweep writes one matrix per figure. The longest axis becomes the rows and the next longest the columns; each
// combination of values of the other axes gets its own matrices. If only one axis has several values, all figures share
// one table.
func (p *page) sweep(where string, sweep *v1alpha1.SweepPhase, steps []v1alpha1.StepResult) {
	title := where + ": a sweep"
	if sweep.Regime != "" {
		title += " in the regime " + string(sweep.Regime)
	}
	p.gap()
	p.line(title + creditRange(steps) + driftText(steps))
	axes := axesOf(sweep.Axes)
	if cells(axes) > maxCells {
		p.nested("not shown: the sweep has more cells than the API allows")
		return
	}
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
	p.gap()
	p.nested(order(axes) + sweepMarks(steps))
}

// matrix writes one figure for all combinations of the values of two axes.
func (p *page) matrix(title string, lines [][]string) {
	p.take(part{text: title, tables: []partTable{{lines: lines, left: 1, matrix: true}}, nested: true, spaced: true})
}

func longestFirst(axes []axis) []axis {
	byLength := slices.Clone(axes)
	slices.SortStableFunc(byLength, func(a, b axis) int { return cmp.Compare(len(b.values), len(a.values)) })
	return byLength
}

// without returns all axes except the ones that a matrix shows as rows and columns.
func without(axes []axis, rows, columns axis) []axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a axis) bool { return a.name == rows.name || a.name == columns.name })
}

// order explains how cells are numbered.
func order(axes []axis) string {
	var names []string
	for _, a := range axes {
		names = append(names, a.name)
	}
	return "Cells are numbered from 0 over " + strings.Join(names, ", ") + ", the last one changing fastest."
}

// sweepLine writes the table of a sweep with several values on only one axis. fixed holds the other axes, each with a
// single value.
func (p *page) sweepLine(only axis, fixed []axis, steps []v1alpha1.StepResult) {
	if names := fixedText(fixed); names != "" {
		p.nested(names)
	}
	p.cellTable(only, steps, nil)
}

// fixedText lists the axes that have only one value, with that value.
func fixedText(fixed []axis) string {
	var names []string
	for _, a := range fixed {
		names = append(names, a.name+" "+a.values[0])
	}
	return strings.Join(names, ", ")
}

// sweepMarks explains the mark of invalid cells. It returns "" if there are none.
func sweepMarks(steps []v1alpha1.StepResult) string {
	if slices.ContainsFunc(steps, func(s v1alpha1.StepResult) bool { return s.Disqualified() }) {
		return " ! marks a cell whose figures do not measure what was asked for."
	}
	return ""
}

// block is one combination of values of the axes that are not in the matrix. cell is the index of its first cell.
type block struct {
	name string
	cell int
}

// title returns the title of the matrix for a figure in this block.
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
	if text != absent && step.Disqualified() {
		text += "!"
	}
	return text
}

// figuresIn lists the figures of the cells that get a matrix each. Rates cover all operations together. Latencies are
// per operation, because the mean and the percentiles of all operations together cannot be computed from those of each
// operation.
func figuresIn(steps []v1alpha1.StepResult) []figureOf {
	all := []figureOf{
		{title: "MB/s", judge: (*compare.Pair).CellThroughput, cell: func(s v1alpha1.StepResult) string {
			bytes, _, ok := phasekind.Total(s.Operations)
			return known(megabytes(float64(bytes.Value)), ok)
		}},
		{title: "IOPS", judge: (*compare.Pair).CellIOPS, cell: func(s v1alpha1.StepResult) string {
			_, operations, ok := phasekind.Total(s.Operations)
			return known(iopsOf(float64(operations.Value)/1000), ok)
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

func known(text string, ok bool) string {
	if !ok {
		return absent
	}
	return text
}

// megabytes formats a rate in MB/s (10^6 bytes) without the unit, which is in the title.
func megabytes(bytesPerSecond float64) string {
	return strings.TrimSuffix(measure.FormatMegabytesPerSecond(bytesPerSecond), " MB/s")
}

func iopsOf(iops float64) string {
	return strings.TrimSuffix(measure.FormatOperationsPerSecond(iops), " IOPS")
}
