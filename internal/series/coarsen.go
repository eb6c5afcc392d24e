package series

import "slices"

// coarsen halves the points of the target that has the most. It is false where nothing is left to join.
func (l *Log) coarsen() bool {
	var most *Target
	for i := range l.Steps {
		for j := range l.Steps[i].Targets {
			if one := &l.Steps[i].Targets[j]; most == nil || one.weight() > most.weight() {
				most = one
			}
		}
	}
	if most == nil || most.weight() == 0 {
		return false
	}
	l.Coarsened = true
	switch {
	case len(most.Clients) > 2*len(most.Points) && len(most.Clients) > 2*len(most.Minutes):
		most.Clients = nil
	case len(most.Minutes) > len(most.Points):
		most.Minutes = everyOther(most.Minutes)
	case len(most.Points) > 1:
		most.Points = joinPairs(most.Points)
	default:
		most.Points, most.Minutes, most.Latency, most.Clients = nil, nil, nil, nil
	}
	return true
}

// weight is about how much room a target takes.
func (t *Target) weight() int {
	bins := 0
	for _, one := range t.Latency {
		bins += len(one.Bins)
	}
	return 4*len(t.Points) + 4*len(t.Minutes) + 2*len(t.Clients) + bins
}

// joinPairs joins neighbours that adjoin and are worth the same. Their sums are kept exactly.
func joinPairs(points []Point) []Point {
	var joined []Point
	for i := 0; i < len(points); i++ {
		one := points[i]
		if i+1 < len(points) && points[i+1].StartNanoseconds == one.EndNanoseconds && points[i+1].State == one.State {
			i++
			one.EndNanoseconds = points[i].EndNanoseconds
			for operation, counter := range points[i].Counters {
				one.Counters[operation].Bytes += counter.Bytes
				one.Counters[operation].Operations += counter.Operations
			}
		}
		joined = append(joined, one)
	}
	if len(joined) == len(points) { // nothing adjoins: every second one is left out, and a gap
		return slices.Clip(everyOther(points))
	}
	return joined
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
