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
	// A drop must have lasted this long, unless the options say otherwise, and this share of the time since
	// the start of its history.
	liveSeconds = 85
	liveShare   = 0.02
	// rampUpSeconds is the longest ramp-up, and returnedSeconds how long a rate must have been back.
	rampUpSeconds, returnedSeconds = 90, 45
	// liveExtra is how much more certain than for one look a drop must be, because each sample is one.
	liveExtra = 12
	// fewBlocks are looked at as a whole with each sample: that takes no longer than a part of a look at all.
	fewBlocks = 160
	// openingShare: the first samples are looked at again when there is one more in so many.
	openingShare = 16
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
	// LastingSeconds is the least time that a drop must have lasted; 0 is 85. A shorter one is for drains
	// in small, whose dips are shorter too.
	LastingSeconds float64
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
	// pace is by how much all times are shorter than usual: that of the time a drop must have lasted.
	pace   pace
	blocks []Sample
	// within are, for each block, the squares of what its samples are off its mean: joined, they would look like none.
	within []float64
	// size is how many samples make a block, pending those of the block that is not full.
	size    int
	pending Sample
	count   int
	// squares are those of the rates of the pending samples.
	squares, covered float64
	last             Sample
	begun            bool
	// seen is how many samples there were, nextOpening at how many the first of them are looked at next.
	seen, nextOpening int
	// stage is what comes next of a look at the blocks, which is spread over several samples.
	stage int
	look  look
	// lowLevel and lowSeconds are of the time on a lower level that was left again.
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
	if options.LastingSeconds <= 0 {
		options.LastingSeconds = liveSeconds
	}
	return &Live{options: options, pace: pace(options.LastingSeconds / liveSeconds), size: 1,
		blocks: make([]Sample, 0, mostLiveBlocks), within: make([]float64, 0, mostLiveBlocks), look: newLook()}
}

// stages are the parts of a look, each of which takes a small share of what a sample may cost.
const stages = 5

// Add takes the next sample, and gives what is known then. One that does not follow the last is an
// error and is left out.
func (l *Live) Add(s Sample) (LiveState, error) {
	var before *Sample
	if l.begun {
		before = &l.last
	}
	if reason := refuse(s, before); reason != "" {
		return l.state, fmt.Errorf("add a sample: %s", reason)
	}
	l.last, l.begun = s, true
	l.join(s)
	if l.seen++; l.seen >= l.nextOpening {
		l.nextOpening = l.seen + 1 + l.seen/openingShare
		l.open()
	}
	if len(l.blocks) > fewBlocks {
		l.work()
		return l.state, nil
	}
	l.stage = 0
	for range stages {
		l.work()
	}
	return l.state, nil
}

// work does the next part of a look.
func (l *Live) work() {
	switch l.stage {
	case 0:
		l.prepare()
	case 1:
		l.guess()
	case 2:
		l.refine()
	case 3:
		l.decide()
	default:
		l.follow()
	}
	l.stage = (l.stage + 1) % stages
}

// join adds a sample to the block that is being filled.
func (l *Live) join(s Sample) {
	if l.count == 0 {
		l.pending, l.squares, l.covered = s, 0, 0
		l.pending.Rate = 0
	}
	l.pending.Rate += s.Rate * s.seconds()
	l.squares += s.Rate * s.Rate * s.seconds()
	l.covered += s.seconds()
	l.pending.EndSeconds = s.EndSeconds
	l.count++
	if l.count < l.size {
		return
	}
	l.pending.Rate /= l.covered
	l.blocks = append(l.blocks, l.pending)
	l.within = append(l.within, max(l.squares/l.covered-l.pending.Rate*l.pending.Rate, 0)*float64(l.size))
	l.count = 0
	if len(l.blocks) == mostLiveBlocks {
		for i := range mostLiveBlocks / 2 {
			pair := l.blocks[2*i : 2*i+2]
			amount, seconds := total(pair, 0, 2)
			apart := pair[0].Rate - pair[1].Rate
			l.within[i] = l.within[2*i] + l.within[2*i+1] + apart*apart/2*float64(l.size)
			l.blocks[i] = Sample{StartSeconds: pair[0].StartSeconds, EndSeconds: pair[1].EndSeconds, Rate: amount / seconds}
		}
		l.blocks, l.within = l.blocks[:mostLiveBlocks/2], l.within[:mostLiveBlocks/2]
		l.size *= 2
		l.restart()
	}
}

// restart forgets what was prepared, because the blocks are others now.
func (l *Live) restart() {
	l.stage = 0
	l.look.reset()
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
	if l.state.After.Value > 0 && returned > l.pace.of(returnedSeconds) {
		low := end - returned - l.state.Seconds
		l.lowSeconds = max(l.lowSeconds, low)
		l.lowLevel = math.Log(max(l.state.After.Value, l.state.Before*1e-3))
		l.state = LiveState{Drops: l.state.Drops, Returns: l.state.Returns + 1}
		return
	}
	// The drop may cut the first block.
	l.state.After = l.meanAfter()
	half := (l.state.After.High - l.state.After.Low) / 2
	l.state.Enough = end-l.state.Seconds >= l.options.BaselineSeconds && len(l.blocks) >= 2*leastBlocks &&
		half <= l.options.Precision*l.state.After.Value
}

// meanAfter is the mean of all blocks but the first. What goes up and down by turns is gone where two samples make a block,
// but the mean is known no better than one sample more or less would change it.
func (l *Live) meanAfter() Estimate {
	blocks := l.blocks[1:]
	mean, _, _, _ := meanOfIn(blocks, l.look.scratch)
	squares := 0.0
	for i, b := range blocks {
		off := b.Rate - mean.Value
		squares += l.within[i+1] + off*off*float64(l.size)
	}
	count := float64(len(blocks) * l.size)
	half := student(count-1) * math.Sqrt(squares/(count-1)) / count
	mean.Low, mean.High = max(min(mean.Low, mean.Value-half), 0), max(mean.High, mean.Value+half)
	return mean
}
