package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/chart"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/series"
)

// observations writes the values of each observation in each phase. The short form has one line for all series of an
// observation.
func (p *page) observations(d Document) {
	if d.Observations == nil || len(d.Observations.Series) == 0 {
		return
	}
	table := partTable{lines: [][]string{{"OBSERVATION", "PHASE", "SERIES", "FIRST", "MEAN", "MIN", "MAX", "LAST"}}, left: 3}
	for i := range d.Spec.Run.Observations {
		o := &d.Spec.Run.Observations[i]
		name := printable(o.Name)
		for _, phase := range d.Phases {
			rows := observation.InPhase(&d.Spec, &d.BenchmarkRunStatus, o.Name, phase.Name)
			if len(rows) > 1 {
				least, most := rows[0].Min, rows[0].Max
				for _, row := range rows {
					least, most = min(least, row.Min), max(most, row.Max)
				}
				table.lines = append(table.lines, []string{name, printable(phase.Name), fmt.Sprintf("%d series", len(rows)), absent, absent,
					observedText(least, o.Unit), observedText(most, o.Unit), absent})
			}
			for _, row := range rows {
				if len(rows) > 1 {
					table.detailRows = append(table.detailRows, len(table.lines))
				}
				table.lines = append(table.lines, []string{name, printable(phase.Name), printable(row.Labels), observedText(row.First, o.Unit),
					observedText(row.Mean, o.Unit), observedText(row.Min, o.Unit), observedText(row.Max, o.Unit),
					observedText(row.Last, o.Unit)})
			}
		}
	}
	if !slices.ContainsFunc(table.lines, func(line []string) bool { return strings.HasSuffix(line[2], " series") }) {
		table.detailColumns = []string{"SERIES"}
	}
	if len(table.lines) > 1 {
		p.take(part{tables: []partTable{table}})
	}
	if d.Observations.Omitted > 0 {
		p.line(fmt.Sprintf("%d more series were omitted to limit the size of the run's status.", d.Observations.Omitted))
	}
	p.details(func() {
		var queries []string
		for _, o := range d.Spec.Run.Observations {
			queries = append(queries, printable(o.Name)+": "+printable(strings.Join(strings.Fields(o.Query), " ")))
		}
		p.list("Queries, evaluated by Prometheus over the measured time of each step:", queries)
	})
}

// observedIn returns the mean of each observation in the given phase. For an observation with several series, it
// returns the range of their means. It returns "" if no observation has values in the phase.
func observedIn(d Document, phase string) string {
	var all []string
	for i := range d.Spec.Run.Observations {
		o := &d.Spec.Run.Observations[i]
		var means []float64
		for _, row := range observation.InPhase(&d.Spec, &d.BenchmarkRunStatus, o.Name, phase) {
			means = append(means, row.Mean)
		}
		if len(means) == 0 {
			continue
		}
		text := observedText(slices.Min(means), o.Unit)
		if most := observedText(slices.Max(means), o.Unit); most != text {
			text += " to " + most
		}
		all = append(all, printable(o.Name)+" "+text)
	}
	return strings.Join(all, ", ")
}

// phaseOf returns the phase of a step, or "" if there is no such step.
func phaseOf(d Document, step string) string { return resolvedStep(d, step).Phase }

// resolvedStep returns the step with the given ID, or an empty step if there is none.
func resolvedStep(d Document, id string) v1alpha1.ResolvedStep {
	at := slices.IndexFunc(d.Spec.Steps, func(s v1alpha1.ResolvedStep) bool { return s.ID == id })
	if at < 0 {
		return v1alpha1.ResolvedStep{}
	}
	return d.Spec.Steps[at]
}

// observedText formats a value with its unit. Bytes get the same unit prefixes as elsewhere in the report.
func observedText(value float64, unit string) string {
	switch {
	case math.IsNaN(value):
		return absent
	case unit == "B/s" && value >= 0:
		return measure.FormatBytesPerSecond(value)
	case unit == "B" && value >= 0 && value < math.MaxInt64:
		return measure.FormatBytes(uint64(value))
	case math.Abs(value) >= 1000 && math.Abs(value) < 1e15:
		return strings.TrimSpace(iopsOf(value) + " " + printable(unit))
	}
	return strings.TrimSpace(strconv.FormatFloat(value, 'g', 4, 64) + " " + printable(unit))
}

// observedViews returns a chart over time for each observation, with the same time axis as the throughput chart.
func observedViews(d Document) []view {
	if len(d.Spec.Run.Observations) == 0 || d.StartTime == nil || d.Series.Empty() {
		return nil
	}
	var views []view
	axis := timeAxis(phaseBands(d), overTime(d, (*series.Point).BytesPerSecond, moving))
	for i := range d.Spec.Run.Observations {
		o := &d.Spec.Run.Observations[i]
		lines, negative := observedLines(d, o.Name)
		if len(lines) == 0 {
			continue
		}
		format := func(value float64) string { return observedText(value, o.Unit) }
		made := viewOverTime(d, fmt.Sprintf("observation-%d", i), "Observation "+printable(o.Name)+" over time", axis, lines)
		made.Y = chart.Linear(most(lines), 5, round(format))
		made.Text = textOfRates(made.Title, d, lines, format)
		made.Notes = append(made.Notes, "Values from Prometheus, reported by the store or its nodes. Pale: warm-up, not included in any figure.")
		if negative {
			made.Notes = append(made.Notes, "Values below zero are drawn as zero.")
		}
		views = append(views, made)
	}
	return views
}

// observedLines returns a chart line for each series of an observation. A value applies until the next value of the
// same step. negative reports whether any value is negative.
func observedLines(d Document, observation string) (lines []chart.Line, negative bool) {
	for i := range d.Series.Observed {
		o := &d.Series.Observed[i]
		if o.Name != observation {
			continue
		}
		name := printable(o.Labels)
		if name == "" {
			name = printable(observation)
		}
		at := slices.IndexFunc(lines, func(l chart.Line) bool { return l.Name == name })
		if at < 0 {
			at = len(lines)
			lines = append(lines, chart.Line{Name: name, Colour: at + 1, Dash: at})
		}
		measured := measuredFrom(d, o.Step)
		for j, p := range o.Points {
			end := p.Nanoseconds
			if j+1 < len(o.Points) {
				end = o.Points[j+1].Nanoseconds
			} else if j > 0 {
				continue // The last value has no duration: its time only marks the end of the preceding value.
			}
			lines[at].Points = append(lines[at].Points, chart.Point{Start: secondsOf(d, p.Nanoseconds), End: secondsOf(d, end),
				Y: max(p.Value, 0), Faint: p.Nanoseconds < measured})
			negative = negative || p.Value < 0
		}
	}
	return lines, negative
}

// measuredFrom returns the start of the measured time of a step in Unix nanoseconds, or 0 if it is unknown.
func measuredFrom(d Document, step string) int64 {
	if fact := d.Attempt(step); fact != nil && fact.MeasuredTime != nil {
		return fact.MeasuredTime.UnixNano()
	}
	return 0
}
