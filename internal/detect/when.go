package detect

import (
	"math"
	"sort"
)

// side is the level on one side of a drop, and its noise as a share of the level.
type side struct {
	level     float64
	deviation float64
}

// when finds the time of a drop between samples [from, to), and where it lies with 95 % probability,
// when all times are as likely before. A sample that the drop cuts has a share of each level, so the time is
// finer than the samples. guess is the sample at which the segmentation has the drop.
func when(samples []Sample, from, guess, to int, before, after side, correlation float64) Estimate {
	fit := func(s Sample, share float64) float64 { // share of the sample that is before the drop
		level := after.level + (before.level-after.level)*share
		deviation := after.deviation*after.level*(1-share) + before.deviation*before.level*share
		return (s.Rate - level) / deviation
	}
	logDeviation := func(share float64) float64 {
		return math.Log(after.deviation*after.level*(1-share) + before.deviation*before.level*share)
	}
	innovation := 1 - correlation*correlation
	cost := func(d, last, logD float64) float64 {
		e := d - correlation*last
		const most = 30 // an outlier says no more than that
		return min(e*e/innovation, most) + 2*logD
	}
	// prefix[i]: cost of samples [from, from+i) before the drop; suffix[i]: of [from+i, to) after it, but
	// for the first one, whose predecessor is of another level.
	n := to - from
	prefix, suffix := make([]float64, n+1), make([]float64, n+2)
	for i := range n {
		d := fit(samples[from+i], 1)
		last := 0.0
		if i > 0 {
			last = fit(samples[from+i-1], 1)
		}
		prefix[i+1] = prefix[i] + cost(d, last, logDeviation(1))
	}
	for i := n - 1; i >= 1; i-- {
		suffix[i] = suffix[i+1] + cost(fit(samples[from+i], 0), fit(samples[from+i-1], 0), logDeviation(0))
	}
	at := func(i int, share float64) float64 { // the drop is in sample i, share of which is before it
		s := samples[from+i]
		d, last, next := fit(s, share), 0.0, 0.0
		if i > 0 {
			last = fit(samples[from+i-1], 1)
		}
		result := prefix[i] + cost(d, last, logDeviation(share))
		if i+1 < n {
			next = cost(fit(samples[from+i+1], 0), d, logDeviation(0))
			result += next + suffix[i+2]
		}
		return result
	}
	return posterior(samples[from:to], at)
}

// posterior turns the cost of a drop inside of each sample into its most likely time and its interval.
func posterior(samples []Sample, at func(i int, share float64) float64) Estimate {
	n := len(samples)
	coarse := make([]float64, n)
	least := math.Inf(1)
	for i := range n {
		coarse[i] = min(at(i, 0.02), at(i, 0.5), at(i, 0.98))
		least = min(least, coarse[i])
	}
	type piece struct{ start, end, weight float64 }
	var pieces []piece
	best, bestTime, all := math.Inf(1), samples[0].StartSeconds, 0.0
	for i, s := range samples {
		if coarse[i] > least+40 {
			continue
		}
		parts := 16
		if coarse[i] <= least+12 {
			parts = 128
		}
		for part := range parts {
			share := (float64(part) + 0.5) / float64(parts)
			c := at(i, share)
			if c < best {
				best, bestTime = c, s.StartSeconds+share*s.seconds()
			}
			weight := math.Exp(-(c-least)/2) * s.seconds() / float64(parts)
			all += weight
			pieces = append(pieces, piece{s.StartSeconds + float64(part)/float64(parts)*s.seconds(),
				s.StartSeconds + float64(part+1)/float64(parts)*s.seconds(), weight})
		}
	}
	if len(pieces) == 0 || !(all > 0) {
		return Estimate{Value: bestTime, Low: samples[0].StartSeconds, High: samples[n-1].EndSeconds}
	}
	cumulative := make([]float64, len(pieces)+1)
	for i, p := range pieces {
		cumulative[i+1] = cumulative[i] + p.weight/all
	}
	quantile := func(q float64) float64 {
		i := sort.Search(len(pieces), func(i int) bool { return cumulative[i+1] >= q })
		i = min(i, len(pieces)-1)
		share := (q - cumulative[i]) / max(cumulative[i+1]-cumulative[i], 1e-300)
		return pieces[i].start + min(max(share, 0), 1)*(pieces[i].end-pieces[i].start)
	}
	low, high := quantile(0.025), quantile(0.975)
	return Estimate{Value: min(max(bestTime, low), high), Low: low, High: high}
}
