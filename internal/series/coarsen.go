package series

import "slices"

// coarsen reduces the data of the largest target or observation. For an observation, it drops every other point. For a
// target, it reduces the largest of three parts: it drops the client rates, drops every other minute, or joins pairs of
// points. If the largest part is the points but there is at most one, coarsen drops all data of the target. It returns
// false if there is nothing left to reduce.
func (l *Log) coarsen() bool {
	var most *Target
	for i := range l.Steps {
		for j := range l.Steps[i].Targets {
			if one := &l.Steps[i].Targets[j]; most == nil || one.weight() > most.weight() {
				most = one
			}
		}
	}
	if observed := l.mostObserved(); observed != nil && (most == nil || len(observed.Points)*3 > most.weight()) {
		l.Coarsened = true
		observed.Points = everyOther(observed.Points)
		return true
	}
	if most == nil || most.weight() == 0 {
		return false
	}
	l.Coarsened = true
	switch {
	case len(most.Clients) > 2*len(most.Points) && len(most.Clients) > 2*len(most.Minutes):
		most.Clients = nil
	case len(most.Minutes) > len(most.Points):
		most.Minutes = everyOtherMinute(most.Minutes)
	case len(most.Points) > 1:
		most.Points = joinPairs(most.Points)
	default:
		most.Points, most.Minutes, most.Latency, most.Clients = nil, nil, nil, nil
	}
	return true
}

// mostObserved returns the observation series with the most points, or nil if no series has points.
func (l *Log) mostObserved() *Observed {
	var most *Observed
	for i := range l.Observed {
		if one := &l.Observed[i]; len(one.Points) > 0 && (most == nil || len(one.Points) > len(most.Points)) {
			most = one
		}
	}
	return most
}

// weight estimates the encoded size of a target. Only the ratio to the weights of other targets is meaningful.
func (t *Target) weight() int {
	bins := 0
	for _, one := range t.Latency {
		bins += len(one.Bins)
	}
	return 4*len(t.Points) + 4*len(t.Minutes) + 2*len(t.Clients) + bins
}

// joinPairs joins pairs of adjacent points of the same state and adds up their counters. If no points are adjacent, it
// drops every other point.
func joinPairs(points []Point) []Point {
	var joined []Point
	for i := 0; i < len(points); i++ {
		one := points[i]
		if i+1 < len(points) && points[i+1].StartNanoseconds == one.EndNanoseconds && points[i+1].State == one.State {
			i++
			one.Join(&points[i])
		}
		joined = append(joined, one)
	}
	if len(joined) == len(points) { // no points are adjacent, so drop every other point, which leaves gaps
		return slices.Clip(everyOther(points))
	}
	return joined
}

// everyOtherMinute drops every other minute with all its operations. Minutes are sorted by time, then operation.
func everyOtherMinute(all []Minute) []Minute {
	var minutes [][]Minute
	for i := range all {
		if i == 0 || all[i].Operation <= all[i-1].Operation {
			minutes = append(minutes, nil)
		}
		last := len(minutes) - 1
		minutes[last] = append(minutes[last], all[i])
	}
	return slices.Concat(everyOther(minutes)...)
}

func everyOther[T any](all []T) []T {
	var kept []T
	for i := 0; i < len(all); i += 2 {
		kept = append(kept, all[i])
	}
	if len(kept) == len(all) {
		return nil
	}
	return kept
}
