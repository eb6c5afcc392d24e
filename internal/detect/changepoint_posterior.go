package detect

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// side describes the rate on one side of a drop: the level, and the standard deviation of the noise as a share of the
// level.
type side struct {
	level     float64
	deviation float64
}

// dropPosterior holds the data from which the time of a drop is estimated.
type dropPosterior struct {
	samples []Sample
	// aside is true for samples that carry no information: gaps and dips.
	aside []bool
	// before holds the level before the drop, or both levels if the rate alternated between two.
	before []side
	after  side
	// correlation is the correlation between a sample and the next one. rough is the factor by which the interval of
	// the drop's time is widened because the noise itself is only an estimate.
	correlation, rough float64

	// For each sample, last is the index of the nearest earlier sample that carries information, or -1. next is the index
	// of the nearest later sample that carries information, or the number of samples. kept is the share of the deviation
	// of sample `last` that carries over to the sample, because the noise is correlated.
	last, next []int
	kept       []float64
	// prefix[k][i] is the cost (-2 times the log-likelihood) of all samples before sample i, assuming that the drop comes
	// after these samples and that the rate is at level k in the last one that carries information. suffix[i] is the cost
	// of sample i and all later samples, assuming that the drop comes before them.
	prefix [][]float64
	suffix []float64
}

// Costs of unusual samples, in squared standard deviations of the noise: turnCost for a change between the two levels
// of a rate that alternates before the drop, outlierCost for an outlier or the start of a dip, and dipCost for each
// further sample of a dip. A dip is always below the level that it interrupts.
const turnCost, outlierCost, dipCost = 12, 30, 20

// far is the number of standard deviations beyond which a deviation does not count as noise.
const far = 5

// dropTime estimates the time of a drop and its 95 % interval. It assumes that all times are equally likely a priori.
// The rate of the sample that contains the drop is a mix of both levels, which shows where in the sample the drop lies.
// Within gaps and dips, all times remain equally likely.
func (t *dropPosterior) dropTime() Estimate {
	t.samples, t.aside = withGaps(t.samples, t.aside)
	t.link()
	t.sum()
	return posterior(t.samples, t.at, t.rough)
}

// link sets last, next and kept. For each sample, it finds the nearest earlier and the nearest later sample that is not
// part of a gap or a dip.
func (t *dropPosterior) link() {
	n := len(t.samples)
	t.last, t.kept = make([]int, n), make([]float64, n)
	last := -1
	for i := range n {
		t.last[i] = last
		if last >= 0 {
			steps := 1.0
			if last < i-1 {
				own := (t.samples[i].seconds() + t.samples[last].seconds()) / 2
				steps += (t.samples[i].StartSeconds - t.samples[last].EndSeconds) / own
			}
			t.kept[i] = math.Pow(t.correlation, steps)
		}
		if !t.aside[i] {
			last = i
		}
	}
	t.next = make([]int, n)
	for i, next := n-1, n; i >= 0; i-- {
		t.next[i] = next
		if !t.aside[i] {
			next = i
		}
	}
}

// off returns a sample's deviation, in standard deviations, from the rate expected if the given share of the sample
// lies before the drop.
func (t *dropPosterior) off(i int, before side, share float64) float64 {
	level := t.after.level + (before.level-t.after.level)*share
	return (t.samples[i].Rate - level) / t.deviation(before, share)
}

func (t *dropPosterior) deviation(before side, share float64) float64 {
	return t.after.deviation*t.after.level*(1-share) + before.deviation*before.level*share
}

// cost returns the cost of sample i: -2 times its log-likelihood, but less for outliers and dips. off is the deviation
// of sample i, and last is the deviation of the nearest earlier sample that carries information, both in standard
// deviations. deviation is the standard deviation of sample i.
func (t *dropPosterior) cost(i int, off, last, deviation float64) float64 {
	if t.aside[i] {
		return 0
	}
	kept := t.kept[i]
	if math.Abs(last) > far { // the previous deviation is too large to be noise, so it does not predict this one
		kept = 0
	}
	e := off - kept*last
	squares := e * e / (1 - kept*kept)
	switch {
	case off < -far && last < -far && !t.near(i): // this sample continues a dip
		squares = dipCost
	case squares > outlierCost: // the cost of an outlier hardly grows with its distance from the level
		squares = outlierCost + 4*math.Log(squares/outlierCost)
	}
	return squares + 2*math.Log(deviation)
}

// near reports whether a sample is just above the level after the drop. Such a sample may belong to that level even if
// it seems many standard deviations away, because the estimate of strongly correlated noise is poor.
func (t *dropPosterior) near(i int) bool {
	const nearShare = 0.03 // greatest distance at which a sample is near the lower level, as a share of the drop
	above := t.samples[i].Rate - t.after.level
	return above > 0 && above < nearShare*(t.before[0].level-t.after.level)
}

// sum fills prefix and suffix. Before the drop, it assigns each sample to the level that minimizes the total cost.
func (t *dropPosterior) sum() {
	n := len(t.samples)
	t.prefix, t.suffix = make([][]float64, len(t.before)), make([]float64, n+1)
	for k := range t.prefix {
		t.prefix[k] = make([]float64, n+1)
	}
	for i := range n {
		for k, own := range t.before {
			if t.aside[i] {
				t.prefix[k][i+1] = t.prefix[k][i]
				continue
			}
			t.prefix[k][i+1] = t.cheapest(i, k, t.off(i, own, 1), t.deviation(own, 1))
		}
	}
	// The costs in suffix assume that the previous sample is at the level after the drop. That is not true for the first
	// sample after the drop, so `at` computes the cost of that sample separately.
	none := t.before[0]
	for i := n - 1; i >= 0; i-- {
		t.suffix[i] = t.suffix[i+1]
		if t.last[i] >= 0 {
			t.suffix[i] += t.cost(i, t.off(i, none, 0), t.off(t.last[i], none, 0), t.deviation(none, 0))
		}
	}
}

// cheapest returns the minimum cost of the samples up to and including sample i, if sample i is at level k. If the drop
// lies inside sample i, only the part of the sample before the drop is at level k.
func (t *dropPosterior) cheapest(i, k int, off, deviation float64) float64 {
	best := math.Inf(1)
	for j, other := range t.before {
		last, cost := 0.0, t.prefix[j][i]
		if t.last[i] >= 0 {
			last = t.off(t.last[i], other, 1)
		}
		if j != k {
			cost += turnCost
		}
		best = min(best, cost+t.cost(i, off, last, deviation))
	}
	return best
}

// at returns the cost of all samples, assuming that the drop lies inside sample i and that the given share of this
// sample comes before the drop.
func (t *dropPosterior) at(i int, share float64) float64 {
	best := math.Inf(1)
	next := t.next[i]
	for k, own := range t.before {
		cost, off := t.prefix[k][i], 0.0
		if !t.aside[i] {
			off = t.off(i, own, share)
			cost = t.cheapest(i, k, off, t.deviation(own, share))
		}
		if next < len(t.samples) {
			last := off
			if t.aside[i] && t.last[next] >= 0 {
				last = t.off(t.last[next], own, 1)
			}
			cost += t.cost(next, t.off(next, own, 0), last, t.deviation(own, 0)) + t.suffix[next+1]
		}
		best = min(best, cost)
	}
	return best
}

// withGaps inserts an empty sample into each gap. aside marks the samples that carry no information: the inserted
// samples and the samples that are marked in `without`.
func withGaps(samples []Sample, without []bool) (filled []Sample, aside []bool) {
	filled = make([]Sample, 0, len(samples)+8)
	aside = make([]bool, 0, len(samples)+8)
	for i, s := range samples {
		if i > 0 && s.StartSeconds-samples[i-1].EndSeconds > leastGap {
			filled = append(filled, Sample{StartSeconds: samples[i-1].EndSeconds, EndSeconds: s.StartSeconds})
			aside = append(aside, true)
		}
		filled, aside = append(filled, s), append(aside, without != nil && without[i])
	}
	return filled, aside
}

// cell is an interval inside a sample that may contain the drop.
type cell struct {
	sample   int
	low, end float64 // the edges of the cell: 0 is the start of the sample, 1 is its end
	cost     float64
}

// posterior returns the median and the 95 % interval of the distribution of the drop's time. The function `at` returns
// the cost of a drop at a position inside a sample. posterior divides the samples into smaller and smaller cells, and
// discards unlikely ones, until there are enough likely cells.
func posterior(samples []Sample, at func(i int, share float64) float64, rough float64) Estimate {
	const parts, enough = 4, 100
	cells := make([]cell, len(samples))
	for i := range samples {
		cells[i] = cell{sample: i, low: 0, end: 1}
	}
	for round := range 9 {
		bound := 40.0
		if round == 0 {
			bound = 100 // keep more cells at first: the cost in the middle of a sample can far exceed the lowest cost in it
		}
		least := math.Inf(1)
		for i, c := range cells {
			cells[i].cost = at(c.sample, (c.low+c.end)/2)
			least = min(least, cells[i].cost)
		}
		// The cost in the middle of a cell can far exceed the lowest cost in it, so keep the neighbours of likely cells
		// too.
		var kept []cell
		good := func(i int) bool { return i >= 0 && i < len(cells) && cells[i].cost <= least+bound }
		count := 0
		for i, c := range cells {
			if good(i) {
				count++
			}
			if good(i-1) || good(i) || good(i+1) {
				kept = append(kept, c)
			}
		}
		cells = kept
		if count >= enough {
			break
		}
		divided := make([]cell, 0, len(cells)*parts)
		for _, c := range cells {
			for part := range parts {
				width := (c.end - c.low) / parts
				divided = append(divided, cell{sample: c.sample, low: c.low + float64(part)*width, end: c.low + float64(part+1)*width, cost: c.cost})
			}
		}
		cells = divided
	}
	e := quantiles(samples, cells, rough)
	// Drops often fall exactly between two samples, so extend the interval to the edges of the sample that most likely
	// contains the drop, if the cost there is not much higher than the lowest cost.
	best := slices.MinFunc(cells, func(a, b cell) int { return cmp.Compare(a.cost, b.cost) })
	const about = 5
	if at(best.sample, 0) <= best.cost+about {
		e.Low = min(e.Low, samples[best.sample].StartSeconds)
	}
	if at(best.sample, 1) <= best.cost+about {
		e.High = max(e.High, samples[best.sample].EndSeconds)
	}
	return e
}

func quantiles(samples []Sample, cells []cell, rough float64) Estimate {
	best := slices.MinFunc(cells, func(a, b cell) int { return cmp.Compare(a.cost, b.cost) })
	time := func(c cell, share float64) float64 {
		s := samples[c.sample]
		return s.StartSeconds + (c.low+share*(c.end-c.low))*s.seconds()
	}
	cumulative := make([]float64, len(cells)+1)
	for i, c := range cells {
		weight := math.Exp(-(c.cost-best.cost)/(2*rough*rough)) * (c.end - c.low) * samples[c.sample].seconds()
		cumulative[i+1] = cumulative[i] + weight
	}
	quantile := func(q float64) float64 {
		q *= cumulative[len(cells)]
		i := sort.Search(len(cells)-1, func(i int) bool { return cumulative[i+1] >= q })
		share := (q - cumulative[i]) / max(cumulative[i+1]-cumulative[i], 1e-300)
		return time(cells[i], min(max(share, 0), 1))
	}
	low, high := quantile(0.025), quantile(0.975)
	return Estimate{Value: quantile(0.5), Low: low, High: high}
}
