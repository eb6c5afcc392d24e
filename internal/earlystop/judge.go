package earlystop

import (
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// judge says after each second of a series why it is enough; empty while it is not.
type judge interface {
	add(sample detect.Sample) string
}

// judgeOf a step on a target. Documented is the level that the target settles on once its credits are gone, and
// baseline the one on which it was seen to, in bytes a second; 0 where they are not known.
func judgeOf(step plan.Step, documented, baseline float64) judge {
	if baseline == 0 && step.Kind == v1alpha1.PhaseSweep {
		// The drain that was put before a sweep may find a bucket that is empty already.
		baseline = documented
	}
	switch {
	case (step.Redrain || step.Kind == v1alpha1.PhaseSweep) && step.Purpose == plan.Drain && baseline > 0:
		return &redrain{baseline: baseline, seconds: lasting(step).Seconds()}
	case step.Purpose == plan.Drain:
		return newDrain(step, documented)
	}
	return &steadiness{}
}

// drain waits for a lasting drop, and for the level after it to be measured. The live detector says when there may be
// one: it is cheap, and asked at each sample. Whether there is one is for the analysis that judges the result, over the
// samples so far: what ends a drain is what its result will say.
type drain struct {
	live    *detect.Live
	samples []detect.Sample
	// next is how many samples there are when the analysis is asked again, after it did not confirm a drop.
	next int
	// highest level that can be the baseline; 0 where none is documented.
	highest float64
	// why is kept once the analysis has confirmed the drop.
	why string
}

const (
	// usualLasting is how long a lower rate must have lasted to be a baseline, shorter where minDuration is.
	usualLasting = 85 * time.Second
	leastLasting = 8 * time.Second
	// lastingShare of minDuration.
	lastingShare = 0.7
	// baselineSlack is by how much a level may be over the documented baseline and be it: what stays above has
	// other credits to spend first.
	baselineSlack = 1.25
	// confirmShare: a drop that is not confirmed is looked at again when there is one sample more in so many since it.
	confirmShare = 16
)

// lasting is how long a lower rate must have lasted in a step.
func lasting(step plan.Step) time.Duration {
	return min(usualLasting, max(leastLasting, time.Duration(lastingShare*float64(step.MinDuration))))
}

func newDrain(step plan.Step, documented float64) *drain {
	lasting := lasting(step)
	d := &drain{live: detect.NewLive(detect.LiveOptions{
		LastingSeconds:  lasting.Seconds(),
		BaselineSeconds: min(time.Minute, lasting).Seconds(),
	})}
	d.highest = baselineSlack * documented
	return d
}

func (d *drain) add(sample detect.Sample) string {
	if d.why != "" {
		return d.why
	}
	state, err := d.live.Add(sample)
	if err != nil {
		return "" // one that cannot be is left out
	}
	d.samples = append(d.samples, sample)
	switch {
	case !state.Certain, !state.Enough:
		// A drain that is never certain lasts its whole time.
		return ""
	case d.highest > 0 && state.After.Value > d.highest, len(d.samples) < d.next:
		return ""
	}
	d.why = d.confirm(state)
	return d.why
}

// confirm says what the analysis finds in the samples so far, if it is the drop that was seen live; empty if it is not. What
// is short beside the series may pass for a dip in it, until it has lasted.
func (d *drain) confirm(seen detect.LiveState) string {
	found, err := detect.Analyze(d.samples, detect.Options{})
	if err != nil || !found.Exhausted || found.Baseline.Value > math.Sqrt(seen.Before*seen.After.Value) {
		after := sort.Search(len(d.samples), func(i int) bool { return d.samples[i].StartSeconds >= seen.Seconds })
		d.next = len(d.samples) + 1 + (len(d.samples)-after)/confirmShare
		return ""
	}
	drop := found.Drops[len(found.Drops)-1]
	return fmt.Sprintf("fell for good after %.0f s, from %s to %s (95 %% interval %s to %s)", drop.Seconds.Value,
		measure.FormatMegabytesPerSecond(drop.Before.Value), measure.FormatMegabytesPerSecond(drop.After.Value),
		measure.FormatMegabytesPerSecond(drop.After.Low), measure.FormatMegabytesPerSecond(drop.After.High))
}

// steadiness waits for five steady rounds.
type steadiness struct {
	samples []detect.Sample
	why     string
}

func (s *steadiness) add(sample detect.Sample) string {
	s.samples = append(s.samples, sample)
	if s.why != "" || len(s.samples)%detect.RoundSeconds != 0 {
		return s.why
	}
	result, err := detect.AssessSteady(s.samples, detect.SteadyOptions{})
	if err == nil && result.State == detect.Steady {
		s.why = fmt.Sprintf("steady over five rounds from %.0f to %.0f s, at %s", result.First.StartSeconds,
			result.First.EndSeconds, measure.FormatMegabytesPerSecond(result.First.Mean.Value))
	}
	return s.why
}

// redrain waits for the rate to be back on a baseline that is known. Its burst may be of a few seconds.
type redrain struct {
	baseline, seconds float64
	// since is when the rate was last above it.
	since float64
	// sum and length of what came after.
	sum, length float64
}

// aboveBaseline is by how much a second may be over the baseline and count as one on it.
const aboveBaseline = 1.25

func (r *redrain) add(sample detect.Sample) string {
	length := sample.EndSeconds - sample.StartSeconds
	if sample.Rate > aboveBaseline*r.baseline {
		r.since, r.sum, r.length = sample.EndSeconds, 0, 0
		return ""
	}
	r.sum += sample.Rate * length
	r.length += length
	if r.length < r.seconds {
		return ""
	}
	return fmt.Sprintf("back on the baseline after %.0f s, at %s", r.since, measure.FormatMegabytesPerSecond(r.sum/r.length))
}
