package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

const (
	// absent replaces a figure that is missing.
	absent = "-"
	// longestNames is the width up to which the names of phase and target stand in columns; wider ones get a line of
	// their own above their figures.
	longestNames = 22
)

// figureColumns are the columns to the right of the names.
var figureColumns = []string{"OPERATION", "THROUGHPUT", "IOPS", "MEAN", "P50", "P95", "P99", "P99.9", "MAX"}

// row holds the figures of one operation, or dashes for a target without operations.
type row struct {
	names   []string
	figures []string
}

func (p *page) phases(d Document) {
	p.WriteString("\n")
	if len(d.Phases) == 0 {
		p.line("  ", "no phase has a result")
		return
	}
	p.figures(d)
	p.spaces(d)
	p.timeline(d)
	p.WriteString("\n")
	p.line("  ", "MB is 10^6 bytes. Throughput and IOPS count what was completed while every client ran, over that time; "+
		"for prepare, everything from the first start to the last end"+ofDrains(d)+". Latency is from submission to completion, over all "+
		"operations of all clients."+absence(rowsOf(d, 1), byJobs(d)))
}

// figures writes the tables of all figures.
func (p *page) figures(d Document) {
	p.operations(d)
	p.bursts(d)
	p.ramps(d)
	p.sweeps(d)
	p.searches(d)
	p.jobs(d)
	p.commands(d)
	p.comparisons(d)
}

// operations writes the table of operations, and a sentence per target about how its figures were measured.
func (p *page) operations(d Document) {
	names := []string{"PHASE"}
	if manyTargets(d) {
		names = append(names, "TARGET")
	}
	rows := rowsOf(d, len(names))
	switch {
	case len(rows) == 0:
	case namesWidth(rows) > longestNames && p.parts == nil:
		p.tableWithHeadings(rows)
		p.WriteString("\n")
	default:
		p.table(names, rows)
		p.WriteString("\n")
	}
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			if !ownTable(phase, target) {
				text := detail(phase, target, manyTargets(d))
				if why := conclusionOf(d, phase.Name); why != "" && target.Burst == nil {
					text += "; ended since " + why
				}
				p.line("  ", text)
			}
		}
	}
}

// drained reports whether the target's credits ran out, so that means over the whole phase mix two levels.
func drained(target v1alpha1.TargetResult) bool { return target.Burst != nil && target.Burst.Exhausted }

// ofDrains states where the figures of burst drains are; empty if there are none.
func ofDrains(d Document) string {
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			if drained(target) {
				return "; the levels of a burst drain are in a table of their own"
			}
		}
	}
	return ""
}

// absence explains the dashes; empty if there are none.
func absence(rows []row, byJobs bool) string {
	switch {
	case !slices.ContainsFunc(rows, func(r row) bool { return slices.Contains(r.figures, absent) }):
		return ""
	case byJobs:
		return ` "-" means no figure: IOR does not time single operations, a percentile needs ten samples above it, and a sync moves no bytes.`
	}
	return ` "-" means no figure: a percentile needs ten samples above it, and a sync moves no bytes.`
}

// ownTable reports whether the table of operations leaves a target out: ramps and sweeps have tables of their own, and
// a cooldown without operations has no figures.
func ownTable(phase v1alpha1.PhaseResult, target v1alpha1.TargetResult) bool {
	return phasekind.Of(phase.Kind).InCells() || target.Cooldown != nil && len(target.Operations) == 0
}

func rowsOf(d Document, names int) []row {
	var rows []row
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			if ownTable(phase, target) || target.Mdtest != nil || drained(target) {
				continue // mdtest does not measure its reads and writes; a mean of burst and baseline is no figure
			}
			named := []string{printable(phase.Name), printable(target.Target)}[:names]
			for _, operation := range target.Operations {
				rows = append(rows, row{names: named, figures: figures(operation)})
			}
			if len(target.Operations) == 0 {
				rows = append(rows, row{names: named, figures: slices.Repeat([]string{absent}, len(figureColumns))})
			}
		}
	}
	return rows
}

func namesWidth(rows []row) int {
	widest := 0
	for _, r := range rows {
		sum := 0
		for _, name := range r.names {
			sum += utf8.RuneCountInString(name) + 2
		}
		widest = max(widest, sum-2)
	}
	return widest
}

// table writes all rows in columns: names and operation left-aligned, figures right-aligned.
func (p *page) table(names []string, rows []row) {
	lines := [][]string{slices.Concat(names, figureColumns)}
	for _, r := range rows {
		lines = append(lines, slices.Concat(r.names, r.figures))
	}
	p.columns("  ", lines, len(names)+1)
}

// tableWithHeadings writes the names on a line of their own above their rows.
func (p *page) tableWithHeadings(rows []row) {
	lines := [][]string{figureColumns}
	for _, r := range rows {
		lines = append(lines, r.figures)
	}
	var aligned page
	aligned.columns("    ", lines, 1)
	written := slices.Collect(strings.Lines(aligned.String()))
	p.WriteString(written[0])
	for i, r := range rows {
		if i == 0 || !slices.Equal(r.names, rows[i-1].names) {
			p.WriteString("  " + strings.Join(r.names, ", ") + "\n")
		}
		p.WriteString(written[i+1])
	}
}

// columns writes a table: the first left columns are left-aligned, the others right-aligned.
func (p *page) columns(indent string, lines [][]string, left int) {
	if p.parts != nil {
		p.take(part{tables: []partTable{{lines: trimmed(lines), left: left}}})
		return
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range line {
			if i > 0 {
				b.WriteString("  ")
			}
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < left {
				b.WriteString(cell + fill)
			} else {
				b.WriteString(fill + cell)
			}
		}
		p.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

func figures(o v1alpha1.OperationResult) []string {
	cells := slices.Repeat([]string{absent}, len(figureColumns))
	cells[0] = printable(string(o.Operation))
	if o.BytesPerSecond != nil {
		cells[1] = measure.FormatBytesPerSecond(float64(*o.BytesPerSecond))
	}
	if o.IOPSMilli != nil {
		cells[2] = strings.TrimSuffix(measure.FormatOperationsPerSecond(float64(*o.IOPSMilli)/1000), " IOPS")
	}
	if l := o.Latency; l != nil {
		for i, nanoseconds := range []*int64{&l.MeanNanoseconds, l.P50Nanoseconds, l.P95Nanoseconds, l.P99Nanoseconds, l.P999Nanoseconds, &l.MaxNanoseconds} {
			if nanoseconds != nil {
				cells[3+i] = measure.FormatLatency(uint64(max(*nanoseconds, 0)))
			}
		}
	}
	return cells
}

// detail returns a sentence about how the figures of a target were measured.
func detail(phase v1alpha1.PhaseResult, target v1alpha1.TargetResult, named bool) string {
	where := phase.Name
	if named {
		where += "/" + target.Target
	}
	if target.Clients == 0 {
		if slices.ContainsFunc(target.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningLayoutReused }) {
			return where + ": existing data was verified and reused"
		}
		return where + ": no client has a result"
	}
	parts := []string{measure.FormatCount(int(target.Clients), "client")}
	if target.WindowNanoseconds > 0 {
		parts[0] += " over " + time.Duration(target.WindowNanoseconds).Round(10*time.Millisecond).String()
	} else {
		parts = append(parts, "no time in which all clients ran")
	}
	if target.TailNanoseconds != nil && *target.TailNanoseconds >= int64(10*time.Millisecond) {
		parts = append(parts, "the last "+time.Duration(*target.TailNanoseconds).Round(10*time.Millisecond).String()+" with some of them done")
	}
	if target.StartSkewNanoseconds != nil && *target.StartSkewNanoseconds >= int64(time.Millisecond) {
		parts = append(parts, "begun within "+time.Duration(*target.StartSkewNanoseconds).Round(time.Millisecond).String())
	}
	if spread := target.ClientSpread; spread != nil && target.Clients > 1 && !drained(target) {
		parts = append(parts, fmt.Sprintf("best client %s, worst %s", measure.FormatBytesPerSecond(float64(spread.Best.BytesPerSecond)),
			measure.FormatBytesPerSecond(float64(spread.Worst.BytesPerSecond))))
	}
	if verdict := steadyText(target.SteadyState); verdict != "" {
		parts = append(parts, verdict)
	}
	return where + ": " + strings.Join(parts, "; ")
}

// steadyText returns the verdict on the steady state; empty if it was not assessed.
func steadyText(s *v1alpha1.SteadyStateResult) string {
	switch {
	case s == nil, !s.Assessed || s.Steady == nil:
		return "" // a warning reports it
	}
	text := "not steady"
	if *s.Steady {
		text = "steady"
	}
	if s.ExcursionPermille != nil && s.SlopePermille != nil {
		text += fmt.Sprintf(" (the last five minutes within %s, trend %s)", measure.FormatShare(float64(*s.ExcursionPermille)/1000),
			measure.FormatShare(float64(*s.SlopePermille)/1000))
	}
	return text
}
