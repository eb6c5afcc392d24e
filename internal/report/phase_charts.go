package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/chart"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/series"
)

// drains returns one chart for each target of each phase with a burst drain. A chart shows the levels and drops that
// the analysis of the drain found.
func drains(d Document, phases []v1alpha1.PhaseResult) []view {
	var views []view
	for phase, target := range v1alpha1.TargetResults(phases) {
		if target.Burst == nil || d.StartTime == nil {
			continue
		}
		if made, ok := drainView(d, phase, target, len(views)); ok {
			views = append(views, made)
		}
	}
	return views
}

// drainView returns the chart of one burst drain, or false if its series is unknown.
func drainView(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult, index int) (view, bool) {
	found, rate, format, levels := target.Burst.Bytes, (*series.Point).BytesPerSecond, rateText, bytesLevels(d)
	operations := moving
	if found == nil || target.Burst.Dimension == "Operations" && target.Burst.Operations != nil {
		found, rate, format, levels = target.Burst.Operations, (*series.Point).OperationsPerSecond, func(v int64) string { return iopsOf(float64(v)) }, operationLevels(d)
	}
	line := chart.Line{Name: "measured", Colour: 1}
	start := math.NaN()
	eachTarget(d, func(step *v1alpha1.ResolvedStep, of *series.Target) {
		if step.Phase != phase.Name || step.Purpose != v1alpha1.StepDrain || of.Name != target.Target {
			return
		}
		line.Points, start = drainPoints(of, rate, operations)
	})
	if found == nil || len(line.Points) == 0 || math.IsNaN(start) {
		return view{}, false
	}
	lines := []chart.Line{line}
	top, told := height(lines)
	shown, _ := levelsUpTo(levels, top)
	for _, l := range shown {
		top = max(top, l.Y)
	}
	unit := 1.0
	if format(1000) != rateText(1000) {
		unit = 1000 // operation rates are in thousandths
	}
	write := func(v float64) string { return format(int64(v)) }
	name := where(d, phase, target)
	made := view{Figure: chart.Figure{ID: fmt.Sprintf("drain-%d", index), Title: "Burst drain: " + printable(name), Lines: lines, Levels: shown,
		X: timeAxis(nil, lines), Y: chart.Linear(top, 5, round(write)), Text: printable(name) + ": " + burstTitle(target.Burst) + "." + told}}
	for _, s := range found.Segments {
		value := float64(s.Mean.Value) / unit
		says := fmt.Sprintf("%s from %s to %s: %s", strings.ToLower(printable(cmp.Or(string(s.Shape), "level"))), length(s.StartNanoseconds), length(s.EndNanoseconds), write(value))
		made.Segments = append(made.Segments, chart.Segment{Name: says, Start: float64(s.StartNanoseconds) / 1e9, End: float64(s.EndNanoseconds) / 1e9, Y: value})
		made.Text += " Segment: " + says + "."
	}
	for _, drop := range found.Drops {
		at := float64(drop.AtNanoseconds.Value) / 1e9
		made.Marks = append(made.Marks, chart.Mark{Name: "drop after " + length(drop.AtNanoseconds.Value), Class: "drop", X: at})
	}
	for _, text := range dropTexts(target.Burst) {
		made.Text += " " + strings.ToUpper(text[:1]) + text[1:] + "."
	}
	made.Notes = []string{"All operations, from the start of the measured time. Thick lines: detected segments, each at its mean rate." + told}
	return made, true
}

// drainPoints returns the points of a drain, summed over operations, in seconds from the start of the measured time.
// It also returns that start as Unix time in nanoseconds, or NaN if nothing was measured.
func drainPoints(of *series.Target, rate func(*series.Point, measure.Operation) float64, operations []measure.Operation) ([]chart.Point, float64) {
	start := math.NaN()
	for i := range of.Points {
		if of.Points[i].State == series.Measured {
			start = float64(of.Points[i].StartNanoseconds)
			break
		}
	}
	var points []chart.Point
	for i := range of.Points {
		p := &of.Points[i]
		made := chart.Point{Start: (float64(p.StartNanoseconds) - start) / 1e9, End: (float64(p.EndNanoseconds) - start) / 1e9, Faint: p.State != series.Measured}
		for _, operation := range operations {
			made.Y += rate(p, operation)
		}
		points = append(points, made)
	}
	return points, start
}

// loads describes the X axis of a chart that shows figures by load. Its values are the steps of a ramp, or the rates
// that a search offered, in ascending order.
type loads struct {
	id, title, name string
	values          []int64
	// of returns the load of a step, or false if the chart does not show the step.
	of func(*v1alpha1.StepResult) (int64, bool)
	// mark returns the text and the axis position of the mark in a target's chart, such as the result of a search. The
	// text is "" if the target has no mark. mark is nil if no target has one.
	mark func(*v1alpha1.TargetResult) (string, int64)
	// inOperations is true if the load is itself an operation rate. The chart then shows operations, not bytes.
	inOperations bool
}

// loadsOf returns the axis of a phase, or false if the phase does not vary the load along one axis.
func loadsOf(d Document, phase *v1alpha1.PhaseResult) (loads, bool) {
	spec := d.Spec.Run.Phase(phase.Name)
	switch {
	case spec == nil:
		return loads{}, false
	case spec.Ramp != nil:
		name := rampName(spec.Ramp.Dimension)
		return loads{id: "ramp", title: "Ramp of " + name, name: name, values: spec.Ramp.Steps, of: func(step *v1alpha1.StepResult) (int64, bool) {
			// A damaged file may contain steps that are not in the ramp. The chart omits them.
			if step.Cell < 0 || int(step.Cell) >= len(spec.Ramp.Steps) {
				return 0, false
			}
			return spec.Ramp.Steps[step.Cell], true
		}}, len(spec.Ramp.Steps) > 0
	case phasekind.Of(phase.Kind).PicksRates:
		return offeredRates(phase)
	}
	return loads{}, false
}

// steps returns the steps of a target that are on the axis, in ascending order of the load.
func (l *loads) steps(target *v1alpha1.TargetResult) []v1alpha1.StepResult {
	var all []v1alpha1.StepResult
	for i := range target.Steps {
		if _, known := l.of(&target.Steps[i]); known {
			all = append(all, target.Steps[i])
		}
	}
	if l.inOperations {
		slices.SortStableFunc(all, func(a, b v1alpha1.StepResult) int { return cmp.Compare(*a.OfferedIOPS, *b.OfferedIOPS) })
	}
	return all
}

// curves returns two charts per ramp and search: the rates and the latencies of its steps.
func curves(d Document, phases []v1alpha1.PhaseResult) []view {
	var views []view
	for i := range phases {
		axis, known := loadsOf(d, &phases[i])
		if !known {
			continue
		}
		views = append(views, curveOfRates(&phases[i], &axis, len(views)))
		if made, ok := curveOfLatencies(d, &phases[i], &axis, len(views)); ok {
			views = append(views, made)
		}
	}
	return views
}

// rampAxis returns an axis with a label for each step, but skips labels that are closer than 5 % of the axis to the
// previous one. The axis is logarithmic if the largest step is at least 16 times the smallest.
func rampAxis(steps []int64) chart.Axis {
	least, most := slices.Min(steps), slices.Max(steps)
	axis := chart.Axis{Min: 0, Max: float64(most) * 1.05}
	if least > 0 && most >= 16*least {
		axis = chart.Axis{Min: float64(least) / 1.2, Max: float64(most) * 1.2, Log: true}
	}
	last := math.Inf(-1)
	for _, value := range steps {
		at := float64(value) / axis.Max
		if axis.Log {
			at = math.Log(float64(value)/axis.Min) / math.Log(axis.Max/axis.Min)
		}
		if at-last >= 0.05 {
			axis.Ticks = append(axis.Ticks, chart.Tick{Value: float64(value), Label: strconv.FormatInt(value, 10)})
			last = at
		}
	}
	return axis
}

func curveOfRates(phase *v1alpha1.PhaseResult, axis *loads, index int) view {
	made := view{Figure: chart.Figure{ID: fmt.Sprintf("%s-%d", axis.id, index), Title: axis.title + ": " + printable(phase.Name),
		X: rampAxis(axis.values)}}
	made.Text = made.Title + "."
	top := 0.0
	moves := !axis.inOperations && slices.ContainsFunc(phase.Targets, func(t v1alpha1.TargetResult) bool {
		return slices.ContainsFunc(t.Steps, func(s v1alpha1.StepResult) bool {
			return slices.ContainsFunc(s.Operations, func(o v1alpha1.StepOperation) bool { return o.BytesPerSecond > 0 })
		})
	})
	format := measure.FormatBytesPerSecond
	if !moves {
		format = measure.FormatOperationsPerSecond
	}
	for i := range phase.Targets {
		target := &phase.Targets[i]
		curve := chart.Curve{Name: printable(target.Target), Colour: i + 1, Dash: i}
		for _, step := range axis.steps(target) {
			at, _ := axis.of(&step)
			if len(step.Operations) == 0 {
				continue
			}
			point := rampPoint(step, moves, at)
			point.Name = fmt.Sprintf("%s at %d: %s", printable(target.Target), at, format(point.Y))
			if point.Hollow {
				point.Name += ", not valid"
			}
			top = max(top, point.High)
			curve.Points = append(curve.Points, point)
			made.Text += " " + point.Name + "."
		}
		made.Curves = append(made.Curves, curve)
		if target.Knee != nil && target.Knee.Found && target.Knee.Value != nil {
			name := "knee"
			if len(phase.Targets) > 1 {
				name = "knee of " + printable(target.Target)
			}
			made.Marks = append(made.Marks, chart.Mark{Name: name + " at " + strconv.FormatInt(*target.Knee.Value, 10), X: float64(*target.Knee.Value)})
			made.Text += " " + name + " at " + strconv.FormatInt(*target.Knee.Value, 10) + "."
		}
		if axis.mark != nil {
			if name, at := axis.mark(target); name != "" {
				made.Marks = append(made.Marks, chart.Mark{Name: name, X: float64(at)})
				made.Text += " " + name + "."
			}
		}
		made.Legend = append(made.Legend, legendEntry{curve.Name, fmt.Sprintf("c%d d%d", i%8+1, i%4)})
	}
	made.Y = chart.Linear(top, 5, round(format))
	made.Notes = []string{"All operations; vertical lines are 95 % intervals. Hollow points: steps without valid figures."}
	return made
}

// rampPoint returns the point of a step: its throughput or, if moves is false because the steps move no bytes, its
// IOPS. The point includes the 95 % interval if this is known.
func rampPoint(step v1alpha1.StepResult, moves bool, value int64) chart.CurvePoint {
	bytes, operations, _ := phasekind.Total(step.Operations)
	total, scale := bytes, 1.0
	if !moves {
		total, scale = operations, 1000
	}
	point := chart.CurvePoint{X: float64(value), Y: float64(total.Value) / scale, Hollow: step.Disqualified()}
	point.Low, point.High = point.Y, point.Y
	if total.Lower != nil && total.Upper != nil {
		point.Low, point.High = float64(*total.Lower)/scale, float64(*total.Upper)/scale
	}
	return point
}

// curveOfLatencies returns a chart of the mean and p99 latency of each operation by step, or false if there are none.
func curveOfLatencies(d Document, phase *v1alpha1.PhaseResult, axis *loads, index int) (view, bool) {
	made := view{Figure: chart.Figure{ID: fmt.Sprintf("%s-%d", axis.id, index), Title: "Latency by " + axis.name + ": " + printable(phase.Name), X: rampAxis(axis.values)}}
	made.Text = made.Title + "."
	least, highest := math.Inf(1), 0.0
	for i := range phase.Targets {
		for _, operation := range measure.Operations {
			for j, figure := range []string{"mean", "p99"} {
				curve := latencyCurve(&phase.Targets[i], axis, operation, figure)
				if len(curve.Points) == 0 {
					continue
				}
				curve.Name = strings.TrimSpace(lineName(targetNames(d), phase.Targets[i].Target, operation) + " " + figure)
				curve.Colour, curve.Dash = len(made.Curves)+1, j
				for _, p := range curve.Points {
					least, highest = min(least, p.Y), max(highest, p.Y)
					made.Text += fmt.Sprintf(" %s at %g: %s.", curve.Name, p.X, nanosecondsText(p.Y))
				}
				made.Curves = append(made.Curves, curve)
				made.Legend = append(made.Legend, legendEntry{curve.Name, fmt.Sprintf("c%d d%d", (curve.Colour-1)%8+1, curve.Dash)})
			}
		}
	}
	made.Y = chart.Logarithmic(least, highest, round(nanosecondsText))
	made.Notes = []string{"The latency axis is logarithmic."}
	return made, len(made.Curves) > 0
}

func latencyCurve(target *v1alpha1.TargetResult, axis *loads, operation measure.Operation, figure string) chart.Curve {
	var curve chart.Curve
	for _, step := range axis.steps(target) {
		at, _ := axis.of(&step)
		for _, o := range step.Operations {
			value := o.MeanNanoseconds
			if figure == "p99" {
				value = 0
				if o.P99Nanoseconds != nil {
					value = *o.P99Nanoseconds
				}
			}
			if string(o.Operation) == operation.String() && value > 0 {
				curve.Points = append(curve.Points, chart.CurvePoint{X: float64(at), Y: float64(value), Low: float64(value), High: float64(value),
					Hollow: step.Disqualified(), Name: fmt.Sprintf("%s at %d: %s", figure, at, nanosecondsText(float64(value)))})
			}
		}
	}
	return curve
}

// clientCharts returns one chart for each step and target with several clients. It shows the throughput of each client,
// the fastest first. There are no charts for layouts, phases with many steps, or steps that move no bytes.
func clientCharts(d Document) []view {
	var views []view
	eachTarget(d, func(step *v1alpha1.ResolvedStep, target *series.Target) {
		if len(target.Clients) < 2 || phasekind.Of(step.Kind).ManySteps() || step.Purpose == v1alpha1.StepPrepare || len(views) >= maxLatencyCharts {
			return
		}
		if !slices.ContainsFunc(target.Clients, func(c series.ClientRate) bool { return c.BytesPerSecond > 0 }) {
			return
		}
		name := printable(step.Phase)
		if manyTargets(d) {
			name += ", " + printable(target.Name)
		}
		views = append(views, clientView(len(views), name, slices.Clone(target.Clients)))
	})
	return views
}

func clientView(index int, name string, clients []series.ClientRate) view {
	slices.SortStableFunc(clients, func(a, b series.ClientRate) int { return cmp.Compare(b.BytesPerSecond, a.BytesPerSecond) })
	made := view{Figure: chart.Figure{ID: fmt.Sprintf("clients-%d", index), Title: "Throughput of each client: " + name, X: chart.Axis{Min: 0, Max: float64(len(clients))}}}
	line := chart.Line{Name: "clients", Colour: 1}
	every := max(1, (len(clients)+9)/10)
	for i, one := range clients {
		line.Points = append(line.Points, chart.Point{Start: float64(i) + 0.08, End: float64(i) + 0.92, Y: float64(one.BytesPerSecond)})
		if i%every == 0 {
			made.X.Ticks = append(made.X.Ticks, chart.Tick{Value: float64(i) + 0.5, Label: strconv.Itoa(one.Client)})
		}
	}
	best, worst := clients[0], clients[len(clients)-1]
	made.Text = fmt.Sprintf("%s: %d clients, sorted. Best: client %d with %s. Middle: %s. Worst: client %d with %s.", made.Title, len(clients), best.Client,
		rateText(best.BytesPerSecond), rateText(clients[len(clients)/2].BytesPerSecond), worst.Client, rateText(worst.BytesPerSecond))
	made.Lines = []chart.Line{line}
	made.Y = chart.Linear(float64(best.BytesPerSecond), 4, round(measure.FormatBytesPerSecond))
	made.Notes = []string{"Clients are sorted by rate, fastest first, and labelled by index. Rates are computed over the common window."}
	return made
}

// timelineChart returns a chart whose rows show the planned and the actual time of each phase. It returns none if
// neither is known.
func timelineChart(d Document) []view {
	spans := spansOf(d)
	if d.StartTime == nil || len(spans) == 0 {
		return nil
	}
	made := view{Figure: chart.Figure{ID: "timeline", Title: "Timeline"}}
	made.Text = "Planned and actual time of each phase."
	rows, end := float64(len(spans)), 0.0
	for i, s := range spans {
		made.Y.Ticks = append(made.Y.Ticks, chart.Tick{Value: rows - float64(i) - 0.58, Label: v1alpha1.Truncate(printable(s.name), 18)})
		if !s.plannedEnd.IsZero() && s.plannedEnd.After(s.planned) {
			from, to := secondsOf(d, s.planned.UnixNano()), secondsOf(d, s.plannedEnd.UnixNano())
			made.Bars = append(made.Bars, chart.Bar{Name: fmt.Sprintf("%s, planned: %s to %s", printable(s.name), clock(from), clock(to)), Class: "planned", Row: i, Start: from, End: to})
			end = max(end, to)
		}
		if s.last.After(s.first) && !s.first.IsZero() {
			from, to := secondsOf(d, s.first.UnixNano()), secondsOf(d, s.last.UnixNano())
			says := fmt.Sprintf("%s: %s to %s", printable(s.name), clock(from), clock(to))
			made.Bars = append(made.Bars, chart.Bar{Name: says, Class: "actual", Row: i, Start: from, End: to})
			made.Text += " " + says + "."
			end = max(end, to)
		}
	}
	made.Y.Max, made.X = rows, chart.Seconds(0, end)
	made.Rows = len(spans)
	made.Legend = []legendEntry{{"planned", "planned"}, {"first to last I/O", "actual"}}
	if len(made.Bars) == 0 {
		return nil
	}
	return []view{made}
}
