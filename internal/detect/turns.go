package detect

import (
	"math"
	"sort"
)

// turnShare is the minimum change of the share of reads at a switch between writes and reads.
const turnShare = 0.5

// ignoreTurns removes drops at which the load switched from writes to reads, or from reads to writes. Such a drop shows
// the rate of the other operation, and says nothing about credits. If it follows the last real drop, the series ends
// there, because its last level would otherwise be a mean over both operations.
func (a *analysis) ignoreTurns(samples []Sample) {
	if len(a.options.ReadShares) != len(samples) {
		return
	}
	var kept []Estimate
	var end *float64
	for _, at := range a.times {
		switch {
		case !turnsAt(samples, a.options.ReadShares, at.Value):
			kept, end = append(kept, at), nil
		case end == nil:
			a.turned, end = true, &at.Value
		}
	}
	a.times = kept
	if len(kept) > 0 && end != nil {
		a.samples = a.samples[:sort.Search(len(a.samples), func(i int) bool { return a.samples[i].EndSeconds > *end })]
	}
}

// turnsAt reports whether the load mostly read on one side of an instant, and mostly wrote on the other. It compares
// equal numbers of samples before and after the instant. If the load switches often, the shares of reads on both sides
// are similar, so turnsAt returns false.
func turnsAt(samples []Sample, readShares []float64, seconds float64) bool {
	middle := sort.Search(len(samples), func(i int) bool { return samples[i].StartSeconds >= seconds })
	side := min(middle, len(samples)-middle)
	share := func(from, to int) float64 {
		read, all := 0.0, 0.0
		for i, s := range samples[from:to] {
			read += readShares[from+i] * s.Rate * s.seconds()
			all += s.Rate * s.seconds()
		}
		return read / all
	}
	return math.Abs(share(middle-side, middle)-share(middle, middle+side)) > turnShare
}
