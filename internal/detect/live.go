package detect

import (
	"fmt"
	"math"
)

// Limits and criteria of a live detector.
const (
	// mostLiveBlocks is the maximum number of blocks that a live detector stores, to bound its memory and its work per
	// sample. A block is a group of consecutive samples that are joined into one. When the maximum is reached, each
	// pair of neighbouring blocks is joined. After that, a block covers at most 1/160 of the time that all blocks
	// cover.
	mostLiveBlocks = 320
	// A drop counts only if it has lasted for LiveOptions.LastingSeconds, which is liveSeconds by default, and for at
	// least the fraction liveShare of the time since the ramp-up.
	liveSeconds = 85
	liveShare   = 0.02
	// rampUpSeconds is the longest ramp-up. returnedSeconds is the minimum time for which the rate must have been back
	// at the upper level before a drop is withdrawn.
	rampUpSeconds, returnedSeconds = 90, 45
	// liveExtra is the additional certainty, in units of the noise variance, that a live detector requires of a drop. A
	// single analysis requires less, because it does not test the drop again with each sample.
	liveExtra = 12
	// fewBlocks is the largest number of blocks for which a complete evaluation runs with each sample. With so few
	// blocks, all stages together take no longer than a single stage with more blocks.
	fewBlocks = 160
	// openingShare determines how often the detector searches the first samples for a short burst. It repeats the
	// search whenever the number of samples has grown by the fraction 1/openingShare.
	openingShare = 16
	// leastBlocks is the number of blocks needed on either side of a drop.
	leastBlocks = 4
	// defaultPrecision is the default of LiveOptions.Precision.
	defaultPrecision = 0.02
)

// LiveOptions define when a live detector has enough measurements of a burst drain.
type LiveOptions struct {
	// Precision is the largest accepted half width of the baseline's 95 % interval, as a share of the baseline; 0 means
	// 2 %.
	Precision float64
	// BaselineSeconds is the minimum time at the baseline; 0 means 60.
	BaselineSeconds float64
	// LastingSeconds is the minimum duration of a drop; 0 means 85. Use a shorter time for a scaled-down drain, which
	// has shorter dips.
	LastingSeconds float64
}

// LiveState is the current result of a live detector.
type LiveState struct {
	// Certain is true if the rate dropped and has not returned since.
	Certain bool
	// Drops is the number of drops that became certain. Returns is the number of those drops that were withdrawn because
	// the rate returned. A live detector cannot foresee this, so Analyze makes the final decision.
	Drops, Returns int
	// Seconds is the approximate time of the last drop.
	Seconds float64
	// Before is the rate before the last drop. After is the mean rate since then.
	Before float64
	After  Estimate
	// Enough is true if After is measured precisely enough to end a drain.
	Enough bool
}

// Live analyzes a series while it is measured, with bounded memory and work. The zero value is not usable; use NewLive.
// It is not safe for concurrent use.
type Live struct {
	options LiveOptions
	state   LiveState
	// pace scales all durations used for detection: it is LastingSeconds divided by its default.
	pace   pace
	blocks []Sample
	// within holds the sum of the squared deviations of each block's samples from the block's mean. Joining samples
	// into blocks would otherwise hide these deviations.
	within []float64
	// size is the number of samples per block. pending is the block that is not yet full, and count is the number of
	// its samples.
	size    int
	pending Sample
	count   int
	// squares is the sum of rate^2 x seconds over the samples of the pending block, and covered is the sum of their
	// seconds.
	squares, covered float64
	last             Sample
	begun            bool
	// seen is the number of samples so far. When it reaches nextOpening, the first samples are searched again for a
	// short burst.
	seen, nextOpening int
	// stage is the next stage of the current evaluation. An evaluation is spread over several samples if there are many
	// blocks.
	stage      int
	liveWindow liveWindow
	// lowLevel is the logarithm of the rate after the last drop that was withdrawn because the rate returned.
	// lowSeconds is the longest duration of a withdrawn drop, or 0 if no drop was withdrawn.
	lowLevel, lowSeconds float64
}

// NewLive creates a detector for a new series.
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
		blocks: make([]Sample, 0, mostLiveBlocks), within: make([]float64, 0, mostLiveBlocks), liveWindow: newLiveWindow()}
}

// stages is the number of stages of an evaluation. Each stage takes a small share of the time available per sample.
const stages = 5

// Add adds the next sample and returns the state. If the sample does not follow the last one, Add ignores it and
// returns an error.
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

// work runs the next stage of an evaluation.
func (l *Live) work() {
	switch l.stage {
	case 0:
		l.prepare()
	case 1:
		l.likeliestDrop()
	case 2:
		l.refine()
	case 3:
		l.decide()
	default:
		l.follow()
	}
	l.stage = (l.stage + 1) % stages
}

// join adds a sample to the pending block.
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

// restart discards the current evaluation. It is called when the blocks have changed.
func (l *Live) restart() {
	l.stage = 0
	l.liveWindow.reset()
}

// follow measures the level after a drop, and withdraws the drop if the rate returns.
func (l *Live) follow() {
	if !l.state.Certain || len(l.blocks) < leastBlocks {
		return
	}
	end := l.blocks[len(l.blocks)-1].EndSeconds
	// The drop is withdrawn only if the rate has been back at its former level for longer than a spike lasts.
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
	// The mean excludes the first block, because the drop may lie in it.
	l.state.After = l.meanAfter()
	half := (l.state.After.High - l.state.After.Low) / 2
	l.state.Enough = end-l.state.Seconds >= l.options.BaselineSeconds && len(l.blocks) >= 2*leastBlocks &&
		half <= l.options.Precision*l.state.After.Value
}

// meanAfter returns the mean of all blocks except the first, with its 95 % interval. Rates that alternate from sample
// to sample cancel out within a block of two samples, which hides their variation. On either side, the interval is
// therefore at least as wide as the change that one more sample could cause in the mean.
func (l *Live) meanAfter() Estimate {
	blocks := l.blocks[1:]
	mean, _, _, _ := meanOfIn(blocks, l.liveWindow.scratch)
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
