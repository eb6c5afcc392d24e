package result

import (
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/series"
)

// OverTime returns the load of a target over time in a step, from the same clients and by the same rules as [Target].
// Each point is in one of three states: measured, warm-up or, while not all clients were running, transition. A point
// is omitted if samples of a client are missing, because the sum would be too low.
func OverTime(step plan.Step, target string, clients []Client, history History) series.Target {
	b := newBuilder(step, target, clients, history)
	b.judgeClients()
	b.consult()
	b.throughput()
	made := series.Target{Name: target, Points: b.points(), Clients: b.clientRates()}
	var merged [measure.NumOperations]measure.Latency
	for i := range b.usable {
		for operation := range merged {
			merged[operation].Merge(&b.usable[i].Operations[operation].Latency)
		}
	}
	for operation := range merged {
		if histogram := &merged[operation].Histogram; histogram.Count() > 0 && !histogram.Saturated() {
			made.Latency = append(made.Latency, series.DistributionOf(measure.Operation(operation), histogram))
		}
	}
	return made
}

// clientRates returns the rate of each client, sorted by client. The result reports the best, the median and the worst
// client according to the same rates.
func (b *builder) clientRates() []series.ClientRate {
	if len(b.usable) < 2 || len(b.each) != len(b.usable) {
		return nil
	}
	var all []series.ClientRate
	for i := range b.usable {
		all = append(all, series.ClientRate{Client: b.usable[i].Index, BytesPerSecond: measure.Round(b.each[i].BytesPerSecond())})
	}
	slices.SortFunc(all, func(a, b series.ClientRate) int { return a.Client - b.Client })
	return all
}

// points returns the I/O of the target's clients over time, from the first sample to the last.
func (b *builder) points() []series.Point {
	whole := b.series
	if len(b.cutShort) > 0 {
		whole = slices.Concat(b.series, b.cutShort)
	}
	whole = slices.DeleteFunc(slices.Clone(whole), func(s *measure.Series) bool { return s.Len() == 0 })
	if len(whole) == 0 {
		return nil
	}
	edges := b.edgesOf(whole)
	if len(whole) == 1 {
		return edges.alone(whole[0])
	}
	var points []series.Point
	for _, part := range edges.parts() {
		points = append(points, edges.together(part, whole)...)
	}
	return points
}

// edges holds the instants at which the state of a target's points changes.
type edges struct {
	// first is the start of the earliest sample of any client, and last the end of the latest.
	first, last int64
	// running is the time at which the last client starts. measuring is the time at which the last client's warm-up
	// ends. ending is the earliest time at which a client's load ends.
	running, measuring, ending int64
	spans                      []measure.ClientSpan
}

func (b *builder) edgesOf(whole []*measure.Series) edges {
	var e edges
	for i, one := range whole {
		span := measure.ClientSpan{StartNanoseconds: one.At(0).StartNanoseconds, EndNanoseconds: one.At(one.Len() - 1).EndNanoseconds}
		e.spans = append(e.spans, span)
		measuring, ending := span.StartNanoseconds, span.EndNanoseconds
		if measured, ok := one.Span(); ok {
			measuring, ending = measured.StartNanoseconds, b.loadEnd(measured)
		}
		if i == 0 {
			e.first, e.last, e.running, e.measuring, e.ending = span.StartNanoseconds, span.EndNanoseconds, span.StartNanoseconds, measuring, ending
		}
		e.first, e.last = min(e.first, span.StartNanoseconds), max(e.last, span.EndNanoseconds)
		e.running, e.measuring, e.ending = max(e.running, span.StartNanoseconds), max(e.measuring, measuring), min(e.ending, ending)
	}
	return e
}

// parts returns the periods between consecutive instants at which the state changes.
func (e *edges) parts() []measure.Window {
	instants := []int64{e.first, e.running, e.measuring, e.ending, e.last}
	slices.Sort(instants)
	var all []measure.Window
	for i := 1; i < len(instants); i++ {
		if instants[i] > instants[i-1] {
			all = append(all, measure.Window{StartNanoseconds: instants[i-1], EndNanoseconds: instants[i]})
		}
	}
	return all
}

// leastPoint is the minimum length of a point. In a shorter point, a single additional operation would change the rate
// considerably.
const leastPoint = int64(gridStep / 4)

// together returns the sum of all clients' I/O during one part of the step, as points of one second. It joins a short
// remainder to the preceding second.
func (e *edges) together(part measure.Window, whole []*measure.Series) []series.Point {
	grid, err := measure.SumOver(part, int64(gridStep), whole...)
	if err != nil {
		return nil
	}
	var points []series.Point
	for i := range grid.Cells {
		cell := grid.CellWindow(i)
		if !complete(cell, whole, e.spans) {
			continue
		}
		one := e.point(cell, grid.Cells[i])
		if n := len(points) - 1; n >= 0 && cell.Nanoseconds() < int64(gridStep)/2 && points[n].EndNanoseconds == one.StartNanoseconds {
			points[n].Join(&one)
			continue
		}
		if one.State == series.Measured || cell.Nanoseconds() >= leastPoint {
			points = append(points, one)
		}
	}
	return points
}

// alone returns the samples of a single client, split where the load ends. It omits transitions that are too short, and
// joins a measured remainder that is too short, such as fio's last sample of a few milliseconds, to the preceding point.
func (e *edges) alone(one *measure.Series) []series.Point {
	var points []series.Point
	for i := range one.Len() {
		sample := one.At(i)
		whole := measure.Window{StartNanoseconds: sample.StartNanoseconds, EndNanoseconds: sample.EndNanoseconds}
		if whole.Nanoseconds() <= 0 {
			continue
		}
		parts := []measure.Window{whole}
		if e.ending > whole.StartNanoseconds && e.ending < whole.EndNanoseconds {
			parts = []measure.Window{{StartNanoseconds: whole.StartNanoseconds, EndNanoseconds: e.ending}, {StartNanoseconds: e.ending, EndNanoseconds: whole.EndNanoseconds}}
		}
		for _, part := range parts {
			made := e.point(part, one.CountersIn(part))
			switch n := len(points) - 1; {
			case part.Nanoseconds() >= leastPoint:
				points = append(points, made)
			case made.State != series.Measured:
			case n >= 0 && points[n].State == series.Measured && points[n].EndNanoseconds == made.StartNanoseconds &&
				points[n].EndNanoseconds-points[n].StartNanoseconds >= leastPoint:
				points[n].Join(&made)
			default:
				points = append(points, made)
			}
		}
	}
	return points
}

// point returns the point for a window. Its state is Transition if not all clients were running throughout the window,
// otherwise WarmUp if a client was in its warm-up when the window started, otherwise Measured.
func (e *edges) point(window measure.Window, counters [measure.NumOperations]measure.Counter) series.Point {
	made := series.Point{StartNanoseconds: window.StartNanoseconds, EndNanoseconds: window.EndNanoseconds, Counters: counters}
	const tolerance = joinGap // allow for errors in the translation of timestamps between clocks
	switch {
	case window.StartNanoseconds < e.running-tolerance || window.EndNanoseconds > e.ending+tolerance:
		made.State = series.Transition
	case window.StartNanoseconds < e.measuring-tolerance:
		made.State = series.WarmUp
	}
	return made
}
