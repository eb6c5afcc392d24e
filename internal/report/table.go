package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// absent is shown for a missing figure.
const absent = "-"

// Names of columns that are filled only for steady phases.
const (
	// intervalColumn shows half the width of the 95 % interval of throughput and IOPS, as a percentage of the rate.
	intervalColumn = "95 % ±"
	// stateColumn states whether the rate was steady.
	stateColumn = "STATE"
)

// figureColumns are the headings of an operation's figures. The short form leaves out detailColumns.
var (
	figureColumns = []string{"OPERATION", "THROUGHPUT", intervalColumn, "IOPS",
		"MEAN", "P50", "P95", "P99", "P99.9", "MAX", stateColumn}
	detailColumns = []string{"MEAN", "P95", "P99.9"}
)

// operations writes the table of operations, one line per phase, target and operation. Below the table, it explains why
// targets without clients have no figures.
func (p *page) operations(d Document, told documentedRates) {
	names := 2
	if !manyTargets(d) {
		names = 1
	}
	table := partTable{left: names + 1, detailColumns: detailColumns}
	add := func(phase, target string, figures ...string) {
		table.lines = append(table.lines, append([]string{phase, target}[:names], figures...))
	}
	add("PHASE", "TARGET", slices.Concat(figureColumns, []string{"DOCUMENTED", "PERCENT"})...)
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		if !inTable(phase, target) {
			continue
		}
		if len(target.Operations) == 0 {
			add(printable(phase.Name), printable(target.Target), append(noFigures(), "", "")...)
		}
		for _, operation := range target.Operations {
			// The short form omits the rates of a drain from this table, because the report block of the drain shows
			// them.
			detail := target.Burst != nil
			if detail {
				table.detailRows = append(table.detailRows, len(table.lines))
			}
			documented := operationPromise(d, target, operation)
			figures := append(operationFigures(d, phase, target, operation), told.once(documented, detail), documented.percent)
			add(printable(phase.Name), printable(target.Target), figures...)
		}
	}
	if len(table.lines) > 1 {
		table.lines = withoutEmptyColumns(table.lines, names+1)
		p.take(part{tables: []partTable{table}})
	}
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		if target.Clients == 0 && inTable(phase, target) {
			p.line(where(d, phase, target) + ": " + withoutClients(target))
		}
	}
	if about := aboutIntervals(d); about != "" {
		p.line(about)
	}
}

// inTable reports whether the table of operations includes a target. It leaves out ramps, sweeps and tools that report
// rates themselves, because these have separate tables; cooldowns without operations, which have no figures; and drains
// whose credits ran out, because a mean of burst and baseline is meaningless.
func inTable(phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) bool {
	return !phasekind.Of(phase.Kind).InCells() && target.OwnRates() == nil && !phasekind.Drained(target) &&
		(target.Cooldown == nil || len(target.Operations) > 0)
}

// operationPromise returns the documented throughput of an operation, or else its documented IOPS.
func operationPromise(d Document, target *v1alpha1.TargetResult, o v1alpha1.OperationResult) promise {
	for _, f := range []struct {
		name  v1alpha1.FigureName
		value *int64
	}{{v1alpha1.FigureThroughput, o.BytesPerSecond}, {v1alpha1.FigureIOPS, o.IOPSMilli}} {
		if f.value == nil {
			continue
		}
		made := documentedOf(d, target, &phasekind.Figure{Name: f.name, Operation: string(o.Operation),
			Estimate: v1alpha1.Estimate{Value: *f.value}})
		if made.value != "" {
			return made
		}
	}
	return promise{}
}

// noFigures returns a row of dashes for figureColumns. The columns that only steady phases fill are empty.
func noFigures() []string {
	cells := slices.Repeat([]string{absent}, len(figureColumns))
	cells[slices.Index(figureColumns, intervalColumn)], cells[slices.Index(figureColumns, stateColumn)] = "", ""
	return cells
}

func operationFigures(
	d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult, o v1alpha1.OperationResult,
) []string {
	cells := noFigures()
	cells[0] = printable(string(o.Operation))
	spec := d.Spec.Run.Phase(phase.Name)
	if o.Operation == v1alpha1.OperationRead && spec != nil && spec.Expect == v1alpha1.ExpectServerCache {
		cells[0] = "Cache read"
	}
	if o.BytesPerSecond != nil {
		cells[1] = measure.FormatBytesPerSecond(float64(*o.BytesPerSecond))
	}
	if o.IOPSMilli != nil {
		cells[3] = iopsOf(float64(*o.IOPSMilli) / 1000)
	}
	if l := o.Latency; l != nil {
		for i, nanoseconds := range []*int64{&l.MeanNanoseconds, l.P50Nanoseconds, l.P95Nanoseconds, l.P99Nanoseconds, l.P999Nanoseconds, &l.MaxNanoseconds} {
			cells[4+i] = latencyText(nanoseconds)
		}
	}
	if o.RateErrorPPM != nil {
		cells[2] = errorText(*o.RateErrorPPM)
	} else if target.SteadyState != nil {
		cells[2] = absent
	}
	cells[len(cells)-1] = stateText(target.SteadyState)
	return cells
}

// errorText formats half the width of a 95 % interval, given in millionths of the rate, as a percentage.
func errorText(ppm int64) string {
	// leastShown is the smallest share, in millionths, that FormatShare does not round to zero.
	const leastShown = 500
	if ppm < leastShown {
		return "<0.1 %"
	}
	if ppm > 1_000_000 {
		return ">100 %"
	}
	return measure.FormatShare(float64(ppm) / 1e6)
}

// stateText returns the verdict on the steady state, or "" if the phase is not assessed for it.
func stateText(s *v1alpha1.SteadyStateResult) string {
	switch {
	case s == nil:
		return ""
	case !s.Assessed || s.Steady == nil:
		return "not assessed"
	case *s.Steady:
		return "steady"
	}
	return "not steady"
}

// aboutIntervals warns that 95 % intervals do not cover the differences between runs. It returns "" if the run has no
// intervals.
func aboutIntervals(d Document) string {
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		for _, f := range phasekind.Of(phase.Kind).Figures(target) {
			if f.Lower != nil && f.Upper != nil && *f.Lower < *f.Upper {
				return "95 % intervals cover this run only: other runs may differ by far more (measure with `--repeat 5`)."
			}
		}
	}
	return ""
}

// absence explains the dashes in the table of operations. It returns "" if there are none.
func absence(d Document) string {
	for _, one := range partsOf(func(p *page) { p.operations(d, documentedRates{}) }) {
		for _, table := range one.tables {
			if slices.ContainsFunc(table.lines, func(line []string) bool { return slices.Contains(line, absent) }) {
				return ` "-" means no figure: IOR does not time individual operations, a percentile needs ten samples ` +
					`above it, an interval needs three samples, and a sync moves no bytes.`
			}
		}
	}
	return ""
}

// withoutClients states why no client has a result.
func withoutClients(target *v1alpha1.TargetResult) string {
	if target.HasWarning(v1alpha1.WarningLayoutReused) {
		return "existing data was verified and reused"
	}
	return "no client has a result"
}

// measuredHow describes, in one sentence per phase and target, how the figures were measured.
func (p *page) measuredHow(d Document) {
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		if target.Clients == 0 || phasekind.Of(phase.Kind).InCells() {
			continue
		}
		text := where(d, phase, target) + ": " + measuredText(target)
		if why := conclusionOf(d, phase.Name, target.Target); why != "" && target.Burst == nil {
			text += "; ended early: " + why
		}
		p.line(text)
	}
}

func measuredText(target *v1alpha1.TargetResult) string {
	parts := []string{measure.FormatCount(int(target.Clients), "client")}
	if target.WindowNanoseconds > 0 {
		parts[0] += " over " + time.Duration(target.WindowNanoseconds).Round(10*time.Millisecond).String()
	} else if target.OwnRates() == nil {
		parts = append(parts, "the clients never ran at the same time")
	}
	if target.TailNanoseconds != nil && *target.TailNanoseconds >= int64(10*time.Millisecond) {
		parts = append(parts, "the last "+time.Duration(*target.TailNanoseconds).Round(10*time.Millisecond).String()+" with only some of them running")
	}
	if target.StartSkewNanoseconds != nil && *target.StartSkewNanoseconds >= int64(time.Millisecond) {
		parts = append(parts, "started within "+time.Duration(*target.StartSkewNanoseconds).Round(time.Millisecond).String())
	}
	if spread := target.ClientSpread; spread != nil && target.Clients > 1 && !phasekind.Drained(target) {
		parts = append(parts, fmt.Sprintf("best client %s, worst %s", measure.FormatBytesPerSecond(float64(spread.Best.BytesPerSecond)),
			measure.FormatBytesPerSecond(float64(spread.Worst.BytesPerSecond))))
	}
	// State the variation and the trend of the rate only if the rate was steady. Otherwise, a warning states them.
	if s := target.SteadyState; stateText(s) == "steady" && s.ExcursionPermille != nil && s.SlopePermille != nil {
		parts = append(parts, fmt.Sprintf("the last five minutes within %s, trend %s",
			measure.FormatShare(float64(*s.ExcursionPermille)/1000), measure.FormatShare(float64(*s.SlopePermille)/1000)))
	}
	return strings.Join(parts, "; ")
}
