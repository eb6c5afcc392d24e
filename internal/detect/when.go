package detect

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// side is the level on one side of a drop, and its noise as a share of the level.
type side struct {
	level     float64
	deviation float64
}

// when finds the time of a drop between samples [from, to), and where it lies with 95 % probability,
// when all times are as likely before. A sample that the drop cuts has a share of each level, so the time is
// finer than the samples.
//
// The interval is `rough` times as wide as it would be with noise that is known. A gap is a place for it too: gaps are samples of which nothing is known.
func when(samples []Sample, from, to int, before, after side, correlation, rough float64) Estimate {
	samples, missing := withGaps(samples[from:to])
	fit := func(s Sample, share float64) float64 { // share of the sample that is before the drop
		level := after.level + (before.level-after.level)*share
		deviation := after.deviation*after.level*(1-share) + before.deviation*before.level*share
		return (s.Rate - level) / deviation
	}
	logBefore, logAfter := math.Log(before.deviation*before.level), math.Log(after.deviation*after.level)
	logDeviation := func(share float64) float64 {
		return math.Log(after.deviation*after.level*(1-share) + before.deviation*before.level*share)
	}
	innovation := 1 - correlation*correlation
	cost := func(i int, d, last, logD float64) float64 {
		if missing[i] {
			return 0
		}
		e, innovation := d-correlation*last, innovation
		if i == 0 || missing[i-1] {
			e, innovation = d, 1
		}
		squares := e * e / innovation
		if most := 30.0; squares > most { // an outlier says little more than that
			squares = most + 4*math.Log(squares/most)
		}
		return squares + 2*logD
	}
	// prefix[i]: cost of the first i samples before the drop; suffix[i]: of those from i on after it, but
	// for the first one, whose predecessor is of another level.
	n := len(samples)
	prefix, suffix := make([]float64, n+1), make([]float64, n+2)
	for i := range n {
		d := fit(samples[i], 1)
		last := 0.0
		if i > 0 {
			last = fit(samples[i-1], 1)
		}
		prefix[i+1] = prefix[i] + cost(i, d, last, logBefore)
	}
	for i := n - 1; i >= 1; i-- {
		suffix[i] = suffix[i+1] + cost(i, fit(samples[i], 0), fit(samples[i-1], 0), logAfter)
	}
	at := func(i int, share float64) float64 { // the drop is in sample i, share of which is before it
		s := samples[i]
		d, last, next := fit(s, share), 0.0, 0.0
		if i > 0 {
			last = fit(samples[i-1], 1)
		}
		result := prefix[i] + cost(i, d, last, logDeviation(share))
		if i+1 < n {
			next = cost(i+1, fit(samples[i+1], 0), d, logAfter)
			result += next + suffix[i+2]
		}
		return result
	}
	return posterior(samples, at, rough)
}

// withGaps adds a sample for each gap, and says which they are.
func withGaps(samples []Sample) (filled []Sample, missing []bool) {
	filled = make([]Sample, 0, len(samples)+8)
	missing = make([]bool, 0, len(samples)+8)
	for i, s := range samples {
		if i > 0 && s.StartSeconds-samples[i-1].EndSeconds > 1e-9 {
			filled = append(filled, Sample{StartSeconds: samples[i-1].EndSeconds, EndSeconds: s.StartSeconds})
			missing = append(missing, true)
		}
		filled, missing = append(filled, s), append(missing, false)
	}
	return filled, missing
}

// cell is a part of a sample, in which the drop may lie.
type cell struct {
	sample   int
	low, end float64 // shares of the sample
	cost     float64
}

// posterior turns the cost of a drop inside of each sample into its most likely time and its interval.
// Cells are divided until there are enough of them where the drop may be.
func posterior(samples []Sample, at func(i int, share float64) float64, rough float64) Estimate {
	const parts, enough = 4, 100
	cells := make([]cell, len(samples))
	for i := range samples {
		cells[i] = cell{sample: i, low: 0, end: 1}
	}
	for round := range 9 {
		bound := 40.0
		if round == 0 {
			bound = 100 // the middle of a sample may be far worse than its best
		}
		least := math.Inf(1)
		for i, c := range cells {
			cells[i].cost = at(c.sample, (c.low+c.end)/2)
			least = min(least, cells[i].cost)
		}
		// A cell's middle may be far worse than its best: neighbours of what is good stay too.
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
	// A drop just between two samples is no unlikely one, so that their edge counts when it is about as good.
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
