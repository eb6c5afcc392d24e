package plan

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// cooldown idles, on all targets at once also where the phase is Sequential: nothing is loaded, so
// there are no turns.
func (p *phaseMaker) cooldown(phase *v1alpha1.CooldownPhase) {
	at := p.path.Child("cooldown")
	kinds := 0
	for _, given := range []bool{phase.Duration != nil, phase.UntilCredits != nil, phase.Redrain != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		p.problems = append(p.problems, field.Required(at, "give exactly one of duration, untilCredits and redrain"))
		return
	}
	if phase.Redrain == nil && (p.phase.Workload != nil || len(p.phase.TargetWorkloads) > 0) {
		p.warn(p.path, "its workload is not used: only a redrain loads anything. Remove it")
	}
	switch {
	case phase.Duration != nil:
		if phase.MaxDuration != nil {
			p.problems = append(p.problems, field.Forbidden(at.Child("maxDuration"),
				"bounds untilCredits and redrain; remove it beside duration"))
			return
		}
		if length, sound := p.pause(at.Child("duration"), *phase.Duration); sound {
			p.add(p.idle(targetNames(p.run), length), "")
		}
	case phase.UntilCredits != nil:
		p.untilCredits(at, phase)
	default:
		p.redrain(at, phase)
	}
}

// pause reads a length of time that is idled.
func (m *maker) pause(at *field.Path, text v1alpha1.Duration) (time.Duration, bool) {
	before := len(m.problems)
	length := m.duration(at, text)
	if len(m.problems) == before && length <= 0 {
		m.problems = append(m.problems, field.Invalid(at, string(text),
			"must be longer than zero; write a length of time such as 30s, or remove the field"))
	}
	return length, len(m.problems) == before
}

// untilCredits waits until the bucket holds so much for certain. Where the limits are not known its
// length follows from what a redrain has measured, or there is none.
func (p *phaseMaker) untilCredits(at *field.Path, phase *v1alpha1.CooldownPhase) {
	percent := int(phase.UntilCredits.Percent)
	if percent < 1 || percent > 100 {
		p.problems = append(p.problems, field.Invalid(at.Child("untilCredits", "percent"), percent, "must be from 1 to 100"))
		return
	}
	targets := targetNames(p.run)
	step := p.step(Idle, targets)
	step.UntilCreditsPercent = percent
	if phase.MaxDuration != nil {
		limit, sound := p.pause(at.Child("maxDuration"), *phase.MaxDuration)
		if !sound {
			return
		}
		step.Limit = limit
	}
	wait, longest, unknown := p.wait(targets, float64(percent))
	switch {
	case len(unknown) == 0:
		step.Duration = wait
		if step.Limit == 0 {
			step.Limit = longest
		}
		if wait > step.Limit {
			p.warn(at.Child("maxDuration"), "it ends the pause after %s; until the bucket of every target holds %d %% for certain it takes %s",
				length(step.Limit), percent, length(wait))
			step.Duration = step.Limit
		}
	case p.earlierRedrain():
		if step.Limit == 0 {
			step.Limit = p.deadline
		}
	default:
		p.warnUnknown(at, step.Limit, unknown)
		switch {
		case step.Limit > 0:
		case p.discovered(unknown):
			step.Limit = p.deadline
		default:
			step.Limit = time.Second
		}
	}
	p.add(step, "")
}

// wait is how long it takes until all these targets hold so many percent for certain, and how long it takes
// at most, from empty; unknown are those whose limits say nothing of it.
func (m *maker) wait(targets []string, percent float64) (wait, longest time.Duration, unknown []string) {
	for _, target := range targets {
		known := m.tallies[target]
		if known == nil {
			unknown = append(unknown, target)
			continue
		}
		wait = max(wait, wholeSeconds(known.account.SecondsTo(percent)))
		longest = max(longest, wholeSeconds(known.account.Bucket().FillSeconds(percent)))
	}
	return wait, longest, unknown
}

func (p *phaseMaker) warnUnknown(at *field.Path, limit time.Duration, unknown []string) {
	waits := "it waits for nothing, without a maxDuration"
	if limit > 0 {
		waits = "it waits for maxDuration, " + string(length(limit))
	}
	if p.discovered(unknown) {
		p.warn(at.Child("untilCredits"), "how long it takes is not known: the limits of target %s are not given, and are looked for when the run begins; where "+
			"none are found and no phase before it measures the refill (cooldown.redrain), %s", strings.Join(unknown, ", "), waits)
		return
	}
	p.warn(at.Child("untilCredits"), "the credits of target %s will be Unknown: its limits do not give baseline, burst and "+
		"bucket, and no phase before it measures the refill (cooldown.redrain); %s", strings.Join(unknown, ", "), waits)
}

// discovered reports whether what is not known now may be found when the run begins, of all these targets.
func (m *maker) discovered(targets []string) bool {
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		_, known := m.documented[target.Name]
		declared := target.Limits != nil && (target.Limits.Preset != "" || target.Limits.Throughput != nil || target.Limits.IOPS != nil)
		if slices.Contains(targets, target.Name) && (known && declared || len(m.storage.Descriptions) > 0) {
			return false
		}
	}
	return true
}

// redrain idles, then drains again. The pause is one for all targets; drains take turns where the phase says so.
func (p *phaseMaker) redrain(at *field.Path, phase *v1alpha1.CooldownPhase) {
	pause, sound := p.pause(at.Child("redrain", "idle"), phase.Redrain.Idle)
	times, timed := p.redrainTimes(at, phase, pause)
	if !p.loadable() || !sound || !timed {
		return
	}
	idle := p.idle(targetNames(p.run), pause)
	p.warnFull(at.Child("redrain", "idle"), pause)
	if !p.add(idle, "idle") {
		return
	}
	for _, group := range p.groups() {
		step := p.drain(group, times)
		step.Redrain = true
		p.warnTooShort(at.Child("maxDuration"), &step)
		if !p.add(step, "drain") {
			return
		}
	}
}

// redrainTimes are those of the newest burst drain before, within what maxDuration leaves of the pause.
func (p *phaseMaker) redrainTimes(at *field.Path, phase *v1alpha1.CooldownPhase, pause time.Duration) (drainTimes, bool) {
	before := len(p.problems)
	least, err := defaultMinDuration.Parse()
	if err != nil {
		panic(err) // a constant
	}
	times := drainTimes{least: least}
	drained := p.earlierDrain()
	if drained != nil {
		var sound bool
		// Mistakes in it were told where it is.
		if times, sound = (&maker{}).drainTimes(at, drained); !sound {
			return times, false
		}
	}
	switch {
	case phase.MaxDuration != nil:
		most, sound := p.pause(at.Child("maxDuration"), *phase.MaxDuration)
		if times.most = most - pause; sound && times.most < time.Second {
			p.problems = append(p.problems, field.Invalid(at.Child("maxDuration"), string(*phase.MaxDuration),
				"leaves no time for the drain after the pause of "+string(phase.Redrain.Idle)+": raise it, by the time that a drain takes"))
		}
	case drained == nil:
		p.problems = append(p.problems, field.Required(at.Child("maxDuration"),
			"no burstDrain phase before it says how long the drain may take: give maxDuration, for the pause and the drain, "+
				"or put a burstDrain phase before it; a refill is measured on a bucket that was drained"))
	}
	return times, len(p.problems) == before
}

// wholeSeconds rounds up, but not for what is only the inaccuracy of arithmetic.
func wholeSeconds(seconds float64) time.Duration {
	const most = 1000 * 24 * 3600
	return time.Duration(math.Ceil(min(seconds, most)-1e-6)) * time.Second
}

// length writes a length of time as in specifications.
func length(d time.Duration) v1alpha1.Duration { return v1alpha1.DurationOf(d) }
