package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/chart"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/series"
)

// maxLatencyCharts is the maximum number of latency-over-time charts, and also of client charts. The CSV tables contain
// all data.
const maxLatencyCharts = 8

// percentiles lists the percentiles in the charts.
var percentiles = []struct {
	name string
	of   func(*series.Minute) uint64
}{
	{"p50", func(m *series.Minute) uint64 { return m.P50 }},
	{"p95", func(m *series.Minute) uint64 { return m.P95 }},
	{"p99", func(m *series.Minute) uint64 { return m.P99 }},
	{"p99.9", func(m *series.Minute) uint64 { return m.P999 }},
}

// latencies returns charts of latency percentiles over time, one per target and operation.
func latencies(d Document) []view {
	if d.StartTime == nil || d.Series.Empty() {
		return nil
	}
	minutes := map[lineKey][]series.Minute{}
	eachTarget(d, func(_ *v1alpha1.ResolvedStep, target *series.Target) {
		for _, m := range target.Minutes {
			key := lineKey{target.Name, m.Operation}
			minutes[key] = append(minutes[key], m)
		}
	})
	var views []view
	names := targetNames(d)
	for _, name := range names {
		for _, operation := range measure.Operations {
			if of := minutes[lineKey{name, operation}]; len(of) > 0 && len(views) < maxLatencyCharts {
				if made, ok := latencyView(d, len(views), lineName(names, name, operation), of); ok {
					views = append(views, made)
				}
			}
		}
	}
	return views
}

// latencyView returns one chart of latency over time, or false if no minute has a percentile.
func latencyView(d Document, index int, name string, minutes []series.Minute) (view, bool) {
	slices.SortFunc(minutes, func(a, b series.Minute) int { return cmp.Compare(a.StartNanoseconds, b.StartNanoseconds) })
	var lines []chart.Line
	least, highest := math.Inf(1), 0.0
	text := "Latency percentiles of " + name + " over time, one value per minute."
	for i, one := range percentiles {
		line := chart.Line{Name: one.name, Colour: i + 1, Dash: i}
		low, high := math.Inf(1), 0.0
		for j := range minutes {
			m := &minutes[j]
			value := float64(one.of(m))
			if value == 0 {
				continue
			}
			end := m.EndNanoseconds
			if j+1 < len(minutes) {
				end = min(end, max(minutes[j+1].StartNanoseconds, m.StartNanoseconds))
			}
			line.Points = append(line.Points, chart.Point{Start: secondsOf(d, m.StartNanoseconds), End: secondsOf(d, end), Y: value})
			low, high = min(low, value), max(high, value)
		}
		if len(line.Points) == 0 {
			continue
		}
		lines = append(lines, line)
		least, highest = min(least, low), max(highest, high)
		text += " " + one.name + ": " + rangeText(nanosecondsText(low), nanosecondsText(high)) + "."
	}
	if len(lines) == 0 {
		return view{}, false
	}
	made := viewOverTime(d, fmt.Sprintf("latency-%d", index), "Latency over time: "+name, timeAxis(phaseBands(d), lines), lines)
	made.Text, made.Y = text, chart.Logarithmic(least, highest, round(nanosecondsText))
	made.Notes = []string{"One value per minute, over the operations of all clients; a percentile with fewer than ten operations above it is not drawn. The axis is logarithmic."}
	return made, true
}

// rangeText formats two values as a range, or as one value if they are equal.
func rangeText(low, high string) string {
	if low == high {
		return low
	}
	return "from " + low + " to " + high
}

func nanosecondsText(nanoseconds float64) string {
	return measure.FormatLatency(uint64(max(nanoseconds, 0)))
}

// distributions returns one latency distribution chart per phase. A chart shows the share of operations, in percent, in
// each range of latencies during the measured time. There are no charts for layouts, and none for phases with many
// steps, because each of their steps has a different load.
func distributions(d Document) []view {
	var views []view
	names := targetNames(d)
	for _, phase := range d.Phases {
		if kind := phasekind.Of(phase.Kind); kind.ManySteps() || kind.LaysOut {
			continue
		}
		var lines []chart.Line
		dashes := map[string]int{} // lines drawn so far per target, to give each line its own dash pattern
		eachTarget(d, func(step *v1alpha1.ResolvedStep, target *series.Target) {
			if step.Phase != phase.Name || step.Purpose == v1alpha1.StepPrepare {
				return
			}
			for _, one := range target.Latency {
				dash := dashes[target.Name]
				dashes[target.Name]++
				line := distributionLine(one)
				if len(line.Points) == 0 {
					continue
				}
				line.Name, line.Colour, line.Dash = lineName(names, target.Name, one.Operation), slices.Index(names, target.Name)+1, dash
				if len(names) == 1 {
					line.Colour = dash + 1
				}
				lines = append(lines, line)
			}
		})
		if len(lines) > 0 {
			views = append(views, distributionView(len(views), phase.Name, lines))
		}
	}
	return views
}

// distributionLine returns the share of operations in each bin, in percent. The last bin has no upper bound; it is
// drawn up to twice its lower bound. The line has no points if there are no operations.
func distributionLine(one series.Distribution) chart.Line {
	total := uint64(0)
	for _, bin := range one.Bins {
		total += bin.Count
	}
	var line chart.Line
	if total == 0 {
		return line
	}
	for _, bin := range one.Bins {
		high := float64(bin.HighNanoseconds)
		if bin.HighNanoseconds == 0 {
			high = 2 * float64(bin.LowNanoseconds)
		}
		low := max(float64(bin.LowNanoseconds), 1)
		line.Points = append(line.Points, chart.Point{Start: low, End: max(high, low*1.01), Y: 100 * float64(bin.Count) / float64(total)})
	}
	return line
}

func distributionView(index int, phase string, lines []chart.Line) view {
	least, highest := math.Inf(1), 0.0
	text := "Distribution of latencies in phase " + printable(phase) + "."
	for _, line := range lines {
		peak := line.Points[0]
		for _, p := range line.Points {
			if p.Y > peak.Y {
				peak = p
			}
		}
		first, last := line.Points[0], line.Points[len(line.Points)-1]
		least, highest = min(least, first.Start), max(highest, last.End)
		text += fmt.Sprintf(" %s: from %s to %s; most frequent %s to %s, %.1f %% of all.", line.Name, nanosecondsText(first.Start), nanosecondsText(last.End),
			nanosecondsText(peak.Start), nanosecondsText(peak.End), peak.Y)
	}
	percent := func(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " %" }
	return view{Figure: chart.Figure{ID: fmt.Sprintf("distribution-%d", index), Title: "Latency distribution: " + printable(phase), Text: text, Lines: lines,
		X: chart.Logarithmic(least, highest, round(nanosecondsText)), Y: chart.Linear(most(lines), 4, percent)}, Legend: legendOf(lines),
		Notes: []string{"Share of operations per eighth of an octave, over the measured time of all clients. The latency axis is logarithmic."}}
}
