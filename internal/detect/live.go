package detect

import (
	"fmt"
	"math"
)

// Limits of what a live detector holds and asks.
const (
	// mostLiveBlocks bounds its memory and the work of a sample: when there are as many, neighbours are
	// joined, so that a block is at most one part in half as many of the time.
	mostLiveBlocks = 320
	// A drop must have lasted this long, and this share of the time since the start of its history.
	liveSeconds = 85
	liveShare   = 0.02
	// liveExtra is how much more certain than for one look a drop must be, since each sample is one.
	liveExtra = 12
	// leastBlocks is how many a side of a drop needs.
	leastBlocks = 4
	// defaultPrecision is the half width of the baseline's interval, as a share, that is good enough.
	defaultPrecision = 0.02
)

// LiveOptions say when a burst drain has measured enough.
type LiveOptions struct {
	// Precision is the greatest half width of the baseline's 95 % interval, as a share of it; 0 is 2 %.
	Precision float64
	// BaselineSeconds is the least time on the baseline; 0 is 60.
	BaselineSeconds float64
}

// LiveState is what a live detector knows.
type LiveState struct {
	// Certain is whether the rate dropped, and has not come back since.
	Certain bool
	// Drops is how many drops were certain one after the other, Returns how many of them were taken
	// back since the rate came back: live, nobody knows what will be. Analyze has the last word.
	Drops, Returns int
	// Seconds is about when the last drop was, DecidedSeconds when it was certain.
	Seconds, DecidedSeconds float64
	// Before and After are the levels, After as far as it is measured.
	Before float64
	After  Estimate
	// Enough is whether After is measured well enough to end a drain.
	Enough bool
}

// Live watches a series while it is measured, with bounded memory and work. The zero value is not
// usable; see NewLive. It is not safe for concurrent use.
type Live struct {
	options LiveOptions
	state   LiveState
	blocks  []Sample
	// size is how many samples make a block, pending those of the block that is not full.
	size    int
	pending Sample
	count   int
	covered float64
	last    *Sample
	// stage is what the next sample does: looking is spread over several.
	stage  int
	values []float64
	white  whitened
	// drops and lows are the levels before the drops that are not taken back, and the times on a lower
	// level that was left again.
	lowLevel, lowSeconds float64
}

// NewLive makes a detector of a series that begins.
func NewLive(options LiveOptions) *Live {
	if options.Precision <= 0 {
		options.Precision = defaultPrecision
	}
	if options.BaselineSeconds <= 0 {
		options.BaselineSeconds = 60
	}
	return &Live{options: options, size: 1, blocks: make([]Sample, 0, mostLiveBlocks)}
}

// Add takes the next sample, and gives what is known then. One that does not follow the last is an
// error and is left out.
func (l *Live) Add(s Sample) (LiveState, error) {
	if reason := refuse(s, l.last); reason != "" {
		return l.state, fmt.Errorf("add a sample: %s", reason)
	}
	l.last = &s
	l.join(s)
	switch l.stage {
	case 0:
		l.prepare()
	case 1:
		l.search()
	default:
		l.follow()
	}
	l.stage = (l.stage + 1) % 3
	return l.state, nil
}

// join adds a sample to the block that is being filled.
func (l *Live) join(s Sample) {
	if l.count == 0 {
		l.pending, l.covered = s, 0
		l.pending.Rate = 0
	}
	l.pending.Rate += s.Rate * s.seconds()
	l.covered += s.seconds()
	l.pending.EndSeconds = s.EndSeconds
	l.count++
	if l.count < l.size {
		return
	}
	l.pending.Rate /= l.covered
	l.blocks = append(l.blocks, l.pending)
	l.count = 0
	if len(l.blocks) == mostLiveBlocks {
		joined := group(l.blocks, 2)
		l.blocks = append(l.blocks[:0], joined...)
		l.size *= 2
		l.stage = -1 // what was prepared is of other blocks
	}
}

// prepare cleans the blocks.
func (l *Live) prepare() {
	l.values = nil
	if len(l.blocks) < 3*leastBlocks {
		return
	}
	l.values = clean(logarithms(l.blocks), l.typical(), cleanSeconds)
}

func (l *Live) typical() float64 {
	return (l.blocks[len(l.blocks)-1].EndSeconds - l.blocks[0].StartSeconds) / float64(len(l.blocks))
}

// search looks for the drop of which there is most to be said.
func (l *Live) search() {
	n := len(l.values)
	if n < 3*leastBlocks {
		return
	}
	blocks := l.blocks[:n]
	c := course{values: l.values, extra: liveExtra}
	begin := 0
	at := 0
	for range 2 { // once to know the noise, once with it
		if at = l.best(begin, c.noise.correlation); at == 0 {
			return
		}
		begin = min(l.rampUp(blocks, at), at-leastBlocks)
		c.noise = fitNoise([][]float64{deviations(l.values[begin : at-1]), deviations(l.values[at+1:])})
	}
	c.white = &l.white
	l.white.correlation = c.noise.correlation
	l.white.fill()
	elapsed := blocks[n-1].EndSeconds - blocks[begin].StartSeconds
	lasted := blocks[n-1].EndSeconds - blocks[at].StartSeconds
	if lasted < max(liveSeconds, liveShare*elapsed) || c.margin(begin, at, n) < 0 || !l.stays(blocks[begin:], at-begin) {
		return
	}
	before, after := mean(l.values[begin:at]), mean(l.values[at:])
	if l.lowSeconds > 0 && after > l.lowLevel-separation*(before-l.lowLevel) && lasted < outlast*l.lowSeconds {
		return // it has been there before, and came back
	}
	l.state.Certain, l.state.Enough = true, false
	l.state.Drops++
	l.state.Seconds, l.state.DecidedSeconds = blocks[at].StartSeconds, l.last.EndSeconds
	l.state.Before = math.Exp(before)
	l.blocks = append(l.blocks[:0], l.blocks[at:]...)
	l.values = nil
}

// best is the split that leaves the least squares, or 0 if there is no drop.
func (l *Live) best(begin int, correlation float64) int {
	n := len(l.values)
	l.white.values, l.white.correlation = l.values, correlation
	if len(l.white.sum) != n+1 {
		l.white.sum, l.white.squares = make([]float64, n+1), make([]float64, n+1)
	}
	l.white.fill()
	best, least := 0, math.Inf(1)
	for at := begin + leastBlocks; at+leastBlocks <= n; at++ {
		squares, before, after := l.white.two(begin, at, n)
		if before > after && squares < least {
			best, least = at, squares
		}
	}
	return best
}

// rampUp is the first block that comes near to the level before the drop, if that is soon.
func (l *Live) rampUp(blocks []Sample, at int) int {
	level := mean(l.values[at/2:at]) - 3*spread(l.values[at/2:at]) - 0.005
	for i := range at / 2 {
		if l.values[i] >= level || blocks[i].EndSeconds-blocks[0].StartSeconds > 90 {
			return i
		}
	}
	return 0
}

// stays is whether the levels before and after are apart: neither was seen for long on the other side.
func (l *Live) stays(blocks []Sample, at int) bool {
	before, after := blocks[:at], blocks[at:]
	upper, lower := medianRate(before), medianRate(after)
	lower = max(lower, upper*1e-3)
	if upper <= lower {
		return false
	}
	bottom, middle := lower*math.Pow(upper/lower, separation), math.Sqrt(upper*lower)
	// Dips before it are no level: only what lasted for longer counts. After it each moment does.
	low, _ := longRuns(before, dipSeconds+8, func(rate float64) bool { return rate < bottom })
	high, _ := longRuns(after, 0, func(rate float64) bool { return rate > middle })
	lasted := after[len(after)-1].EndSeconds - after[0].StartSeconds
	return low < returnShare*lasted && high < 0.1*lasted
}

// follow measures the level after a drop, and takes the drop back when the rate comes back.
func (l *Live) follow() {
	if !l.state.Certain || len(l.blocks) < leastBlocks {
		return
	}
	end := l.blocks[len(l.blocks)-1].EndSeconds
	// What came back must have stayed for longer than a spike.
	middle := math.Sqrt(l.state.Before * max(l.state.After.Value, l.state.Before*1e-3))
	returned := 0.0
	for i := len(l.blocks) - 1; i >= 0 && l.blocks[i].Rate > middle; i-- {
		returned = end - l.blocks[i].StartSeconds
	}
	if l.state.After.Value > 0 && returned > lastingSeconds {
		low := end - returned - l.state.Seconds
		l.lowSeconds = max(l.lowSeconds, low)
		l.lowLevel = math.Log(max(l.state.After.Value, l.state.Before*1e-3))
		l.state = LiveState{Drops: l.state.Drops, Returns: l.state.Returns + 1}
		return
	}
	l.state.After, _, _, _ = meanOf(l.blocks)
	half := (l.state.After.High - l.state.After.Low) / 2
	l.state.Enough = end-l.state.Seconds >= l.options.BaselineSeconds && len(l.blocks) >= 2*leastBlocks &&
		half <= l.options.Precision*l.state.After.Value
}
