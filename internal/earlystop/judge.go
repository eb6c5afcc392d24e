package earlystop

import (
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
)

// judge decides whether a step has measured enough. add receives the next second of a series. It returns the reason to
// end the step, or "" while more samples are needed.
type judge interface {
	add(sample second) string
}

// judgeOf returns the judge of a step on a target. documented holds the rates that the target's documented limits allow
// with and without credits. measured holds the burst and the baseline that the run's last drain of the target measured
// with the same load as the step. All rates are in bytes per second, and 0 if unknown.
func judgeOf(step plan.Step, target string, documented, measured limits.Rates) judge {
	// A phase with many steps may begin with a drain. If the bucket is already empty at that time, the rate does not
	// drop during the drain, and no drop can be detected. If the baseline is known, the drain therefore ends once the
	// rate has stayed at the baseline for long enough. The same applies to a drain that follows a pause in which
	// credits refill (Redrain).
	before := phasekind.Of(step.Kind).ManySteps()
	known := measured
	if known.Baseline == 0 && before {
		known = documented
	}
	// If the burst is hardly above the baseline, the rate of a single second does not show whether the credits are spent.
	distinct := known.Burst == 0 || known.Burst > aboveBaseline*known.Baseline
	switch {
	case (step.Redrain || before) && step.Purpose == plan.Drain && known.Baseline > 0 && distinct:
		return &redrain{baseline: known.Baseline, least: measured.Baseline / 10, seconds: step.LeastBaseline().Seconds()}
	case step.Purpose == plan.Drain:
		return newDrain(step, documented.Baseline, step.Load(target).SpansClients)
	}
	return &steadiness{}
}

// drain waits for a lasting drop of the rate, and then until the level after the drop has been measured. The live
// detector is cheap: it reads each sample and reports possible drops. detect.Analyze, which also evaluates the result,
// then decides from the samples so far whether the drop is real. A drain therefore ends on the same drop that its
// result reports.
type drain struct {
	live    *detect.Live
	samples []detect.Sample
	// readShares holds the share of reads in each sample. It is set only if inTurn is true, which means that the load may
	// alternate between writes and reads.
	readShares []float64
	inTurn     bool
	// next is the number of samples at which detect.Analyze runs again after it did not confirm a drop.
	next int
	// highest is the highest rate that can be the baseline, or 0 if no baseline is documented.
	highest float64
	// why is the reason to end the step. It is set once detect.Analyze has confirmed the drop.
	why string
}

const (
	// baselineSlack is the tolerance for the documented baseline: a drain does not end while the rate after the drop
	// exceeds baselineSlack times the documented rate, because the target must then still be spending credits from
	// another bucket.
	baselineSlack = 1.25
	// confirmShare determines when detect.Analyze runs again after it did not confirm a drop: after one more sample, plus
	// one sample for every confirmShare samples since the drop.
	confirmShare = 16
)

func newDrain(step plan.Step, documented float64, inTurn bool) *drain {
	lasting := step.LeastBaseline()
	d := &drain{inTurn: inTurn, live: detect.NewLive(detect.LiveOptions{
		LastingSeconds:  lasting.Seconds(),
		BaselineSeconds: min(time.Minute, lasting).Seconds(),
	})}
	d.highest = baselineSlack * documented
	return d
}

func (d *drain) add(sample second) string {
	if d.why != "" {
		return d.why
	}
	state, err := d.live.Add(sample.Sample)
	if err != nil {
		return "" // ignore an invalid sample
	}
	d.samples = append(d.samples, sample.Sample)
	if d.inTurn {
		d.readShares = append(d.readShares, sample.readShare)
	}
	switch {
	case !state.Certain, !state.Enough:
		// If no drop ever becomes certain, the drain runs for its full duration.
		return ""
	case d.highest > 0 && state.After.Value > d.highest, len(d.samples) < d.next:
		return ""
	}
	d.why = d.confirm(state)
	return d.why
}

// confirm returns a message about the drop if detect.Analyze finds, in the samples so far, the same drop as the live
// detector. Otherwise it returns "". The two can disagree: detect.Analyze may treat a level that is short compared with
// the series as a dip until it has lasted longer, and ignores a drop at which the load switches between writes and
// reads.
func (d *drain) confirm(seen detect.LiveState) string {
	found, err := detect.Analyze(d.samples, detect.Options{ReadShares: d.readShares})
	if err != nil || !found.Exhausted || found.Baseline.Value > math.Sqrt(seen.Before*seen.After.Value) {
		after := sort.Search(len(d.samples), func(i int) bool { return d.samples[i].StartSeconds >= seen.Seconds })
		d.next = len(d.samples) + 1 + (len(d.samples)-after)/confirmShare
		return ""
	}
	drop := found.Drops[len(found.Drops)-1]
	return fmt.Sprintf("rate dropped after %.0f s, from %s to %s (95 %% interval %s to %s)", drop.Seconds.Value,
		measure.FormatMegabytesPerSecond(drop.Before.Value), measure.FormatMegabytesPerSecond(drop.After.Value),
		measure.FormatMegabytesPerSecond(drop.After.Low), measure.FormatMegabytesPerSecond(drop.After.High))
}

// steadiness waits for five consecutive steady rounds of detect.RoundSeconds each. Only the newest five rounds count:
// in a step that waits for several targets, each target must still be steady when the step ends.
type steadiness struct {
	samples []detect.Sample
	why     string
}

func (s *steadiness) add(sample second) string {
	s.samples = append(s.samples, sample.Sample)
	if len(s.samples)%detect.RoundSeconds != 0 {
		return s.why
	}
	s.why = ""
	result, err := detect.AssessSteady(s.samples, detect.SteadyOptions{})
	if err == nil && result.Last != nil && result.Last.Steady {
		s.why = fmt.Sprintf("steady state over five windows from %.0f to %.0f s, at %s", result.Last.StartSeconds,
			result.Last.EndSeconds, measure.FormatMegabytesPerSecond(result.Last.Mean.Value))
	}
	return s.why
}

// redrain is the judge of a drain whose baseline is already known: it waits until the rate has stayed at the baseline
// for long enough. The burst before that may last only a few seconds.
type redrain struct {
	baseline, seconds float64
	// least is the rate below which the store counts as stalled. A stall says nothing about the credits. least is 0 if the
	// baseline is only documented, because the load may then stay far below the baseline.
	least float64
	// since is the end of the last second in which the rate was above the baseline.
	since float64
	// sum is the number of bytes, and length the number of seconds, since the rate was last above the baseline, except
	// while the store stalled.
	sum, length float64
}

// aboveBaseline is the tolerance for a known baseline: a second is above the baseline if its rate exceeds aboveBaseline
// times the baseline.
const aboveBaseline = 1.25

func (r *redrain) add(sample second) string {
	length := sample.EndSeconds - sample.StartSeconds
	switch {
	case sample.Rate > aboveBaseline*r.baseline:
		r.since, r.sum, r.length = sample.EndSeconds, 0, 0
		return ""
	case sample.Rate >= r.least:
		r.sum += sample.Rate * length
		r.length += length
	}
	if r.length < r.seconds {
		return ""
	}
	return fmt.Sprintf("back at the baseline after %.0f s, at %s", r.since, measure.FormatMegabytesPerSecond(r.sum/r.length))
}
