package detect

import (
	"math"
	"slices"
)

// liveWindow holds a live detector's evaluation of its blocks in buffers that are allocated once.
type liveWindow struct {
	// values are the cleaned logarithms of the rates of the blocks that existed when the evaluation began. raw are the
	// logarithms before cleaning.
	values, raw []float64
	// middle[i] is the running median of raw: the median of raw[i-half:i+half+1]. A new block changes only the last
	// `half` entries.
	middle []float64
	half   int
	window []float64
	// scratch is a buffer for use within a stage.
	scratch []float64
	white   whitened
	// begin is the index of the first block after the ramp-up. at is the index of the first block after the drop, or
	// 0 if there is no drop.
	begin, at int
	noise     noise
}

func newLiveWindow() liveWindow {
	buffer := func() []float64 { return make([]float64, 0, mostLiveBlocks+1) }
	k := liveWindow{values: buffer(), raw: buffer(), middle: buffer(), window: buffer(), scratch: buffer()}
	k.white.sum, k.white.squares = buffer(), buffer()
	return k
}

// reset discards the evaluation.
func (k *liveWindow) reset() { k.values, k.middle, k.at = k.values[:0], k.middle[:0], 0 }

// prepare begins an evaluation: it computes the logarithms of the rates of the blocks, and replaces dips and outliers.
func (l *Live) prepare() {
	k, n := &l.liveWindow, len(l.blocks)
	k.values, k.at = k.values[:0], 0
	if n < 3*leastBlocks {
		return
	}
	k.scratch = k.scratch[:0]
	for _, b := range l.blocks {
		k.scratch = append(k.scratch, b.Rate)
	}
	floor := logarithmFloor(k.scratch)
	k.raw = k.raw[:0]
	for _, b := range l.blocks {
		k.raw = append(k.raw, math.Log(max(b.Rate, floor)))
	}
	typical := (l.blocks[n-1].EndSeconds - l.blocks[0].StartSeconds) / float64(n)
	k.slide(min(max(int(l.pace.of(cleanSeconds)/typical/2), 2), (n-1)/2))
	k.scratch = k.scratch[:0]
	for i, v := range k.raw {
		k.scratch = append(k.scratch, math.Abs(v-max(k.middle[i], math.Log(floor))))
	}
	bound := max(standsOut*median(k.scratch), 1e-9)
	for i, v := range k.raw {
		if math.Abs(v-k.middle[i]) > bound {
			v = k.middle[i]
		}
		k.values = append(k.values, v)
	}
}

// slide updates the running median of raw. Near both ends of raw, the window is shorter, so slide recomputes the last
// `half` entries. With more than fewBlocks values, it keeps the current half width of the window if the requested half
// width, `half`, differs by only one.
func (k *liveWindow) slide(half int) {
	n := len(k.raw)
	if half > k.half+1 || half < k.half-1 || half != k.half && n <= fewBlocks {
		k.half, k.middle = half, k.middle[:0]
	}
	first := min(max(len(k.middle)-k.half, 0), n)
	k.middle = k.middle[:first]
	k.window = append(k.window[:0], k.raw[max(first-k.half-1, 0):min(first+k.half, n)]...)
	slices.Sort(k.window)
	for i := first; i < n; i++ {
		if i+k.half < n {
			k.insert(k.raw[i+k.half])
		}
		if out := i - k.half - 1; out >= 0 {
			at, _ := slices.BinarySearch(k.window, k.raw[out])
			k.window = slices.Delete(k.window, at, at+1)
		}
		m := len(k.window)
		k.middle = append(k.middle, (k.window[(m-1)/2]+k.window[m/2])/2)
	}
}

func (k *liveWindow) insert(v float64) {
	at, _ := slices.BinarySearch(k.window, v)
	k.window = slices.Insert(k.window, at, v)
}

// likeliestDrop finds the most likely drop, assuming white noise, in which successive values are uncorrelated.
func (l *Live) likeliestDrop() {
	if len(l.liveWindow.values) < 3*leastBlocks {
		return
	}
	l.liveWindow.begin, l.liveWindow.noise = 0, noise{}
	l.best()
}

// refine repeats the search of likeliestDrop, but with the noise measured on both sides of the drop that likeliestDrop
// found.
func (l *Live) refine() {
	if l.liveWindow.at > 0 {
		l.best()
	}
}

// best splits the blocks into the two levels with the least sum of squares, and estimates the ramp-up and the noise
// from this split.
func (l *Live) best() {
	k := &l.liveWindow
	n := len(k.values)
	k.white.values, k.white.correlation = k.values, k.noise.correlation
	k.white.sum, k.white.squares = k.white.sum[:n+1], k.white.squares[:n+1]
	k.white.fill()
	least := math.Inf(1)
	k.at = 0
	for at := k.begin + leastBlocks; at+leastBlocks <= n; at++ {
		squares, before, after := k.white.two(k.begin, at, n)
		if before > after && squares < least {
			k.at, least = at, squares
		}
	}
	if k.at == 0 {
		return
	}
	k.begin = min(l.rampUp(k.at), k.at-leastBlocks)
	// The drop may lie in either block next to the split.
	k.scratch = append(append(k.scratch[:0], k.values[k.begin:k.at-1]...), k.values[k.at+1:]...)
	before, after := k.scratch[:k.at-1-k.begin], k.scratch[k.at-1-k.begin:]
	center(before)
	center(after)
	sides := [2][]float64{before, after}
	k.noise = fitNoise(sides[:])
}

// rampUp returns the first block near the level before the drop, or the block at which rampUpSeconds have passed,
// whichever comes first.
func (l *Live) rampUp(at int) int {
	values := l.liveWindow.values
	level := mean(values[at/2:at]) - 3*spread(values[at/2:at]) - 0.005
	for i := range at / 2 {
		if values[i] >= level || l.blocks[i].EndSeconds-l.blocks[0].StartSeconds > l.pace.of(rampUpSeconds) {
			return i
		}
	}
	return 0
}

// decide records the drop that the previous stages found, if it is certain.
func (l *Live) decide() {
	k := &l.liveWindow
	if k.at == 0 {
		return
	}
	at, n := k.at, len(k.values)
	c := dropSearch{values: k.values, noise: k.noise, white: &k.white, extra: liveExtra}
	k.white.correlation = k.noise.correlation
	k.white.fill()
	blocks := l.blocks[k.begin:n]
	elapsed := blocks[len(blocks)-1].EndSeconds - blocks[0].StartSeconds
	lasted := blocks[len(blocks)-1].EndSeconds - l.blocks[at].StartSeconds
	if lasted < max(l.options.LastingSeconds, liveShare*elapsed) || c.margin(k.begin, at, n) < 0 || !l.staysApart(blocks, at-k.begin) {
		return
	}
	l.recordDrop(at, mean(k.values[k.begin:at]), mean(k.values[at:]))
}

// open searches for a burst that is short compared with the time after it. An evaluation of all blocks would treat such
// a burst as an outlier.
func (l *Live) open() {
	if l.state.Certain || len(l.blocks) < 2*leastSamples {
		return
	}
	a := &analysis{samples: l.blocks, typical: typicalSeconds(l.blocks), extra: liveExtra}
	a.findOpenings()
	if len(a.times) == 0 {
		return
	}
	at, start := a.times[len(a.times)-1].Value, l.blocks[a.begin].StartSeconds
	if len(a.times) > 1 {
		start = a.times[len(a.times)-2].Value
	}
	level := func(samples []Sample) float64 { return math.Log(max(medianRate(samples), math.SmallestNonzeroFloat32)) }
	l.recordDrop(a.sampleAt(at), level(a.between(start, at)), level(a.between(at, l.last.EndSeconds)))
}

// recordDrop records a drop near block `at`, if the drop has lasted long enough, and discards the blocks before it.
// before and after are the logarithms of the rates on both sides.
func (l *Live) recordDrop(at int, before, after float64) {
	// Cleaning may have replaced the last blocks of the burst, which makes the drop seem earlier than it is. Move the drop
	// past the blocks that follow it directly and whose rates are closer to the level before the drop.
	for at+1 < len(l.blocks) && l.blocks[at].Rate > math.Exp((before+after)/2) {
		at++
	}
	lasted := l.blocks[len(l.blocks)-1].EndSeconds - l.blocks[at].StartSeconds
	if lasted < l.options.LastingSeconds {
		return
	}
	if l.lowSeconds > 0 && after > l.lowLevel-separation*(before-l.lowLevel) && lasted < outlast*l.lowSeconds {
		return // the rate has already dropped to this level once, and risen again
	}
	l.state.Certain, l.state.Enough = true, false
	l.state.Drops++
	l.state.Seconds = l.blocks[at].StartSeconds
	l.state.Before = math.Exp(before)
	l.blocks, l.within = l.blocks[:copy(l.blocks, l.blocks[at:])], l.within[:copy(l.within, l.within[at:])]
	l.liveWindow.reset()
}

// staysApart reports whether the levels before and after the block `at` remain apart: before it, the rate was not near
// the lower level for long; after it, the rate was not near the upper level for long.
func (l *Live) staysApart(blocks []Sample, at int) bool {
	before, after := blocks[:at], blocks[at:]
	upper, lower := l.middleRate(before), l.middleRate(after)
	lower = max(lower, upper*1e-3)
	if upper <= lower {
		return false
	}
	bottom, middle := lower*math.Pow(upper/lower, separation), math.Sqrt(upper*lower)
	// Short periods at the lower level before the drop may be dips, so only longer ones count there. After the drop, all
	// periods at the upper level count, however short.
	low, _ := longRuns(before, l.pace.of(dipSeconds+8), func(rate float64) bool { return rate < bottom })
	high, _ := longRuns(after, 0, func(rate float64) bool { return rate > middle })
	lasted := after[len(after)-1].EndSeconds - after[0].StartSeconds
	return low < returnShare*lasted && high < 0.1*lasted
}

// middleRate returns the median of the rates.
func (l *Live) middleRate(blocks []Sample) float64 {
	l.liveWindow.scratch = l.liveWindow.scratch[:0]
	for _, b := range blocks {
		l.liveWindow.scratch = append(l.liveWindow.scratch, b.Rate)
	}
	return median(l.liveWindow.scratch)
}
