package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/chart"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/series"
)

// moving lists the operations that move data.
var moving = []measure.Operation{measure.Read, measure.Write, measure.Trim}

// secondsOf converts Unix time in nanoseconds to seconds from the start of the run.
func secondsOf(d Document, nanoseconds int64) float64 {
	return float64(nanoseconds-d.StartTime.UnixNano()) / 1e9
}

// eachTarget calls use(step, target) for each target of each step, in the order of the steps. It skips targets without
// a series.
func eachTarget(d Document, use func(step *v1alpha1.ResolvedStep, target *series.Target)) {
	if d.Series.Empty() {
		return
	}
	for i := range d.Spec.Steps {
		step := d.Series.Step(d.Spec.Steps[i].ID)
		if step == nil {
			continue
		}
		for j := range step.Targets {
			use(&d.Spec.Steps[i], &step.Targets[j])
		}
	}
}

// lineKey identifies a line of a chart over time.
type lineKey struct {
	target    string
	operation measure.Operation
}

// overTime returns chart lines of a rate over the run, one per target and
// operation, sorted by target, then operation.
func overTime(d Document, rate func(*series.Point, measure.Operation) float64, operations []measure.Operation) []chart.Line {
	points := map[lineKey][]chart.Point{}
	eachTarget(d, func(_ *v1alpha1.ResolvedStep, target *series.Target) {
		for _, operation := range operations {
			if !does(target, operation) {
				continue
			}
			key := lineKey{target.Name, operation}
			for i := range target.Points {
				p := &target.Points[i]
				points[key] = append(points[key], chart.Point{Start: secondsOf(d, p.StartNanoseconds), End: secondsOf(d, p.EndNanoseconds),
					Y: rate(p, operation), Faint: p.State != series.Measured})
			}
		}
	})
	var lines []chart.Line
	names := targetNames(d)
	for i, name := range names {
		dash := 0
		for _, operation := range operations {
			if made := points[lineKey{name, operation}]; len(made) > 0 {
				slices.SortStableFunc(made, func(a, b chart.Point) int { return cmp.Compare(a.Start, b.Start) })
				line := chart.Line{Name: lineName(names, name, operation), Colour: i + 1, Dash: dash, Points: made}
				dash++
				if len(names) == 1 {
					line.Colour, line.Dash = len(lines)+1, len(lines)
				}
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func lineName(names []string, target string, operation measure.Operation) string {
	if len(names) < 2 {
		return operation.String()
	}
	return printable(target) + " " + strings.ToLower(operation.String())
}

// does reports whether a target performed an operation in a step.
func does(target *series.Target, operation measure.Operation) bool {
	return slices.ContainsFunc(target.Points, func(p series.Point) bool { return p.Counters[operation] != (measure.Counter{}) })
}

// most returns the highest value of the lines, including warm-ups and transitions.
func most(lines []chart.Line) float64 {
	highest := 0.0
	for _, line := range lines {
		for _, p := range line.Points {
			highest = max(highest, p.Y)
		}
	}
	return highest
}

// usual returns the value that the lines do not exceed for 99.5 % of their time. On an axis based on this value, a
// spike does not flatten the lines.
func usual(lines []chart.Line) float64 {
	type weighted struct{ y, length float64 }
	var all []weighted
	sum := 0.0
	for _, line := range lines {
		for _, p := range line.Points {
			all = append(all, weighted{p.Y, p.End - p.Start})
			sum += p.End - p.Start
		}
	}
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.y, b.y) })
	passed := 0.0
	for _, one := range all {
		if passed += one.length; passed >= 0.995*sum {
			return one.y
		}
	}
	return 0
}

// height returns the value at the top of an axis. This is normally the highest value. If the highest value is more than
// 3 times the usual value (see usual), it counts as a spike: the axis then ends at 1.5 times the usual value, and told
// is a sentence about the spike.
func height(lines []chart.Line) (top float64, told string) {
	highest, common := most(lines), usual(lines)
	if common > 0 && highest > 3*common {
		return 1.5 * common, fmt.Sprintf(" The axis ends at 1.5 times the 99.5th percentile; the highest value is %.1f times that percentile.", highest/common)
	}
	return highest, ""
}

// view is a chart with its legend and notes.
type view struct {
	chart.Figure
	// Legend describes the lines; Notes are sentences below the chart.
	Legend []legendEntry
	Notes  []string
	// Phases lists the names of the phases, in the order of their numbers in the chart.
	Phases []string
	// FewPhases is true if the wide version of the chart has room for the name of every phase. The page contains a wide
	// and a narrow version of each chart.
	FewPhases bool
}

type legendEntry struct{ Name, Class string }

// viewOverTime returns a line chart over the time of the run, with the phases as bands.
func viewOverTime(d Document, id, title string, x chart.Axis, lines []chart.Line) view {
	made := view{Figure: chart.Figure{ID: id, Title: title, Bands: phaseBands(d), Lines: lines, X: x}, Legend: legendOf(lines), FewPhases: true}
	for _, b := range made.Bands {
		made.Phases = append(made.Phases, b.Name)
		made.FewPhases = made.FewPhases && b.Named(x)
	}
	return made
}

// legendOf returns one legend entry per line.
func legendOf(lines []chart.Line) []legendEntry {
	var all []legendEntry
	for _, line := range lines {
		all = append(all, legendEntry{line.Name, fmt.Sprintf("c%d d%d", (line.Colour-1)%8+1, line.Dash%4)})
	}
	return all
}

// phaseBands returns the phases as bands in seconds from the start of the run. A band lasts from the first to the
// last I/O. If one of these times is unknown, the band uses the planned time instead.
func phaseBands(d Document) []chart.Band {
	var bands []chart.Band
	for _, s := range spansOf(d) {
		first, last := s.first, s.last
		if first.IsZero() {
			first = s.planned
		}
		if last.IsZero() {
			last = s.plannedEnd
		}
		if last.After(first) {
			bands = append(bands, chart.Band{Name: printable(s.name), Start: secondsOf(d, first.UnixNano()), End: secondsOf(d, last.UnixNano())})
		}
	}
	return bands
}

// timeAxis returns an axis that covers all bands and lines. It starts at 0, the start of the run, unless the first band
// or line begins much later: after at least a quarter of the time that the bands and lines cover. The axis then starts
// with that band or line.
func timeAxis(bands []chart.Band, lines []chart.Line) chart.Axis {
	from, to := math.Inf(1), math.Inf(-1)
	for _, b := range bands {
		from, to = min(from, b.Start), max(to, b.End)
	}
	for _, line := range lines {
		for _, p := range line.Points {
			from, to = min(from, p.Start), max(to, p.End)
		}
	}
	if from > 0 && from < (to-from)/4 {
		from = 0
	}
	return chart.Seconds(from, to)
}

const throughputTitle = "Throughput over time"

// totals returns a line of throughput over the run for each target, summed over operations.
func totals(d Document) []chart.Line {
	if d.StartTime == nil {
		return nil
	}
	var lines []chart.Line
	eachTarget(d, func(_ *v1alpha1.ResolvedStep, target *series.Target) {
		at := slices.IndexFunc(lines, func(l chart.Line) bool { return l.Name == printable(target.Name) })
		if at < 0 {
			at = len(lines)
			lines = append(lines, chart.Line{Name: printable(target.Name)})
		}
		for i := range target.Points {
			p := &target.Points[i]
			made := chart.Point{Start: secondsOf(d, p.StartNanoseconds), End: secondsOf(d, p.EndNanoseconds)}
			for _, operation := range moving {
				made.Y += p.BytesPerSecond(operation)
			}
			lines[at].Points = append(lines[at].Points, made)
		}
	})
	if most(lines) == 0 {
		return nil
	}
	return lines
}

// rates returns the charts of throughput and of IOPS over time.
func rates(d Document) []view {
	if d.StartTime == nil || d.Series.Empty() {
		return nil
	}
	var views []view
	if lines := overTime(d, (*series.Point).BytesPerSecond, moving); len(lines) > 0 {
		views = append(views, rateView(d, "throughput", throughputTitle, lines, bytesLevels(d), measure.FormatBytesPerSecond))
	}
	if lines := overTime(d, (*series.Point).OperationsPerSecond, measure.Operations[:]); len(lines) > 0 {
		views = append(views, rateView(d, "iops", "Operations per second over time", lines, operationLevels(d), measure.FormatOperationsPerSecond))
	}
	return views
}

func rateView(d Document, id, title string, lines []chart.Line, levels []chart.Level, format func(float64) string) view {
	top, told := height(lines)
	shown, rest := levelsUpTo(levels, top)
	for _, l := range shown {
		top = max(top, l.Y)
	}
	made := viewOverTime(d, id, title, timeAxis(phaseBands(d), lines), lines)
	made.Levels, made.Y = shown, chart.Linear(top, 5, round(format))
	made.Text = textOfRates(title, d, lines, format) + told
	made.Notes = append(made.Notes, "Every "+intervalText(lines)+" has one value; where several values share a pixel, the line shows their mean, with their range behind it. "+
		"Pale: warm-up or transition, not included in any figure. Gaps: nothing was measured."+told)
	for _, l := range rest {
		where := "Above the chart: "
		if l.Y <= made.Y.Max {
			where = "Not drawn: "
		}
		made.Notes = append(made.Notes, where+l.Name+".")
	}
	if d.Series.Coarsened {
		made.Notes = append(made.Notes, "Adjacent seconds were merged to limit the size of the stored series.")
	}
	return made
}

// round returns a format function for axis labels. Labels are round numbers, so it removes trailing zeros after the
// decimal point. It formats 0 without a unit.
func round(format func(float64) string) func(float64) string {
	return func(value float64) string {
		if value == 0 {
			return "0"
		}
		number, unit, _ := strings.Cut(format(value), " ")
		if strings.Contains(number, ".") {
			number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
		}
		return strings.TrimSpace(number + " " + unit)
	}
}

// intervalText returns the median length of the intervals as text: "second" for one second, otherwise a duration.
func intervalText(lines []chart.Line) string {
	var lengths []float64
	for _, line := range lines {
		for _, p := range line.Points {
			lengths = append(lengths, p.End-p.Start)
		}
	}
	slices.Sort(lengths)
	middle := lengths[len(lengths)/2]
	if math.Abs(middle-1) < 0.05 {
		return "second"
	}
	return time.Duration(middle * 1e9).Round(100 * time.Millisecond).String()
}

// textOfRates describes a chart of rates over time in words: the range of each line and the times of the phases.
func textOfRates(title string, d Document, lines []chart.Line, format func(float64) string) string {
	text := title + "."
	for _, line := range lines {
		least, highest := math.Inf(1), 0.0
		for _, p := range line.Points {
			if p.Faint {
				continue
			}
			least, highest = min(least, p.Y), max(highest, p.Y)
		}
		if least <= highest {
			text += " " + line.Name + ": " + rangeText(format(least), format(highest)) + "."
		}
	}
	var phases []string
	for _, b := range phaseBands(d) {
		phases = append(phases, b.Name+" from "+clock(b.Start)+" to "+clock(b.End))
	}
	return text + " Phases: " + strings.Join(phases, "; ") + "."
}

// clock formats a time in seconds from the start of the run.
func clock(seconds float64) string { return length(int64(seconds * 1e9)) }

// levelsUpTo selects the levels (horizontal lines at documented limits) that a chart shows: the first four that are at
// most twice top. Higher levels would flatten the lines of the chart. rest holds the other levels.
func levelsUpTo(all []chart.Level, top float64) (shown, rest []chart.Level) {
	for _, l := range all {
		if l.Y <= 2*top && len(shown) < 4 {
			shown = append(shown, l)
		} else {
			rest = append(rest, l)
		}
	}
	return shown, rest
}

// bytesLevels returns a chart level for each distinct documented throughput limit.
func bytesLevels(d Document) []chart.Level { return documentedLevels(d, "Bytes", rateText) }

func operationLevels(d Document) []chart.Level {
	return documentedLevels(d, "Operations", func(iops int64) string { return iopsText(1000 * iops) })
}

func documentedLevels(d Document, dimension string, format func(int64) string) []chart.Level {
	var all []chart.Level
	add := func(name, class string, value int64) {
		at := slices.IndexFunc(all, func(l chart.Level) bool { return l.Y == float64(value) })
		if at < 0 {
			all = append(all, chart.Level{Name: name + " " + format(value), Class: class, Y: float64(value)})
		}
	}
	for i := range d.Storage {
		s := &d.Storage[i]
		for j := range s.Limits {
			l := &s.Limits[j]
			if l.Dimension != dimension {
				continue
			}
			name := printable(l.Name)
			if len(d.Storage) > 1 {
				name = printable(s.Target) + ", " + name
			}
			add(name, "baseline", l.Baseline)
			if l.Burst != nil {
				add(name+", burst", "burst", *l.Burst)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b chart.Level) int { return cmp.Compare(a.Y, b.Y) })
	return all
}
