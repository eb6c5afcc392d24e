package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// figureRow is a table row for one figure of a phase on a target. Cells without a value are empty.
type figureRow struct {
	phase, target, name, measured, interval, at string
	documented                                  promise
	main                                        bool
}

// figures writes a table of the phases' figures. The short form shows only each phase's main figures.
func (p *page) figures(d Document, phases []v1alpha1.PhaseResult, told documentedRates) {
	var rows []figureRow
	for i := range phases {
		if !phasekind.Of(phases[i].Kind).OwnTables {
			rows = append(rows, figureRows(d, &phases[i], inBlock)...)
		}
	}
	p.figureTable(d, rows, told)
}

// otherFigures writes the remaining main figures: those that neither a report block nor the table of phases shows.
func (p *page) otherFigures(d Document, told documentedRates) {
	var rows []figureRow
	for i := range d.Phases {
		rows = append(rows, figureRows(d, &d.Phases[i], func(kind phasekind.Kind, f *phasekind.Figure) bool {
			return f.Main && !inBlock(kind, f) && !inPhases(f)
		})...)
	}
	p.figureTable(d, rows, told)
}

// inBlock reports whether the report block of a phase kind shows a figure.
func inBlock(kind phasekind.Kind, f *phasekind.Figure) bool {
	return kind.Block != "" && f.Name != v1alpha1.FigureCompressionRatio
}

// inPhases reports whether the table of phases shows a figure.
func inPhases(f *phasekind.Figure) bool {
	switch f.Name {
	case v1alpha1.FigureThroughput, v1alpha1.FigureIOPS, v1alpha1.FigureMeanLatency, v1alpha1.FigureP50Latency,
		v1alpha1.FigureP95Latency, v1alpha1.FigureP99Latency, v1alpha1.FigureP999Latency:
		return true
	default:
	}
	return false
}

func (p *page) figureTable(d Document, rows []figureRow, told documentedRates) {
	if len(rows) == 0 {
		return
	}
	names := 3
	if !manyTargets(d) {
		names = 2
	}
	table := partTable{left: names}
	add := func(phase, figure, target string, figures ...string) {
		table.lines = append(table.lines, append([]string{phase, figure, target}[:names], figures...))
	}
	add("PHASE", "FIGURE", "TARGET", "MEASURED", "95 % INTERVAL", "DOCUMENTED", "PERCENT", "AT")
	for _, r := range rows {
		if !r.main {
			table.detailRows = append(table.detailRows, len(table.lines))
		}
		add(r.phase, r.name, r.target, r.measured, r.interval, told.once(r.documented, !r.main), r.documented.percent, r.at)
	}
	table.lines = withoutEmptyColumns(table.lines, names)
	p.take(part{tables: []partTable{table}})
}

// figureRows returns table rows for the figures of a phase for which chosen returns true, grouped by name across
// targets. It omits a figure that is not a main figure and has the same value as an earlier one, such as the peak of a
// burst with only one level. It keeps equal figures of cells, because each belongs to a different operation.
func figureRows(
	d Document, phase *v1alpha1.PhaseResult, chosen func(phasekind.Kind, *phasekind.Figure) bool,
) []figureRow {
	kind := phasekind.Of(phase.Kind)
	var rows []figureRow
	for i := range phase.Targets {
		target := &phase.Targets[i]
		last := -1
		for _, f := range kind.Figures(target) {
			if !chosen(kind, &f) || f.Name == v1alpha1.FigureCompressionRatio && toldBefore(d, phase, target) {
				continue
			}
			r := rowOf(d, phase, target, &f)
			if !f.Main && !kind.InCells() && slices.ContainsFunc(rows, func(known figureRow) bool {
				return known.target == r.target && known.measured == r.measured
			}) {
				continue
			}
			at := -1
			for j := range rows {
				if rows[j].name == r.name && rows[j].main == r.main && rows[j].target != r.target {
					at = j // insert the row below the row of the previous target for the same figure
				}
			}
			if at < 0 {
				at = last
			}
			rows, last = slices.Insert(rows, at+1, r), at+1
		}
	}
	return rows
}

func rowOf(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult, f *phasekind.Figure) figureRow {
	format := func(value int64) string { return figureValue(f.Name, f.Operation, value) }
	r := figureRow{phase: printable(phase.Name), target: printable(target.Target), name: figureTitle(phase, f),
		measured: format(f.Value), main: f.Main, documented: documentedOf(d, target, f)}
	if f.Lower != nil && f.Upper != nil && *f.Lower < *f.Upper {
		r.interval = between(format(*f.Lower), format(*f.Upper))
	}
	if phasekind.Of(phase.Kind).InCells() {
		r.at = cellWords(d, phase.Name, f.Cell)
	}
	return r
}

// between formats an interval, such as "2.10 to 2.30 GB/s". It omits the unit of the lower end if both ends have the
// same unit.
func between(lower, upper string) string {
	number, unit, found := strings.Cut(lower, " ")
	if found && strings.HasSuffix(upper, " "+unit) {
		lower = number
	}
	return lower + " to " + upper
}

// figureTitle returns the name of a figure for a table of its phase or report block. The name can be as short as
// "lasted" or "spent", because the rest of the table supplies the context.
func figureTitle(phase *v1alpha1.PhaseResult, f *phasekind.Figure) string {
	words, operation := figureNames[f.Name], strings.ToLower(printable(f.Operation))
	switch f.Name {
	case v1alpha1.FigureThroughput:
		words = ""
	case v1alpha1.FigureTimeToBaseline:
		words = "lasted"
	case v1alpha1.FigureSpent:
		words = "spent"
	case v1alpha1.FigurePeak, v1alpha1.FigureSustained:
		words += " burst"
	case v1alpha1.FigureRate:
		return printable(f.Operation)
	default:
	}
	switch {
	case f.Operation == phasekind.InOperations:
		operation = ""
	case phasekind.Of(phase.Kind).InCells() && operation != "" && f.Main:
		operation = "most " + operation
	}
	return cmp.Or(strings.TrimSpace(operation+" "+words), printable(strings.ToLower(string(f.Name))))
}

// toldBefore reports whether the report has already shown the same compression ratio for an earlier phase on the
// target.
func toldBefore(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) bool {
	for i := range d.Phases {
		if d.Phases[i].Name == phase.Name {
			return false
		}
		earlier := ratioOf(d.Phases[i].Target(target.Target))
		if now := ratioOf(target); earlier != nil && now != nil && *earlier == *now {
			return true
		}
	}
	return false
}

func ratioOf(target *v1alpha1.TargetResult) *int64 {
	if target == nil || target.Usage == nil {
		return nil
	}
	return target.Usage.CompressionRatioMilli
}

// cellWords describes a cell of a ramp or sweep by its settings, such as "queue depth 8".
func cellWords(d Document, phase string, cell int32) string {
	spec := d.Spec.Run.Phase(phase)
	switch {
	case spec == nil || cell < 0:
	case spec.Ramp != nil && int(cell) < len(spec.Ramp.Steps):
		return fmt.Sprintf("%s %d", rampName(spec.Ramp.Dimension), spec.Ramp.Steps[cell])
	case spec.Sweep != nil:
		var words []string
		for _, a := range axesOf(spec.Sweep.Axes) {
			words = append(words, a.name+" "+a.values[int(cell)/a.stride%len(a.values)])
		}
		return strings.Join(words, ", ")
	}
	return ""
}
