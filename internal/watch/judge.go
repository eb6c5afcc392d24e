package watch

import (
	"fmt"
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

// drain waits for a lasting drop, and for the level after it to be measured.
type drain struct {
	live *detect.Live
	// highest level that can be the baseline; 0 where none is documented.
	highest float64
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
	state, err := d.live.Add(sample)
	switch {
	case err != nil, !state.Certain, !state.Enough:
		// A sample that cannot be is left out; a drain that is never certain lasts its whole time.
		return ""
	case d.highest > 0 && state.After.Value > d.highest:
		return ""
	}
	return fmt.Sprintf("fell for good after %.0f s, from %s to %s (95 %% interval %s to %s)", state.Seconds,
		measure.FormatMegabytesPerSecond(state.Before), measure.FormatMegabytesPerSecond(state.After.Value),
		measure.FormatMegabytesPerSecond(state.After.Low), measure.FormatMegabytesPerSecond(state.After.High))
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
