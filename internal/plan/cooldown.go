package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// cooldown plans idle time for all targets at once, even if the phase is Sequential, because targets without load do
// not have to take turns.
func (p *phaseMaker) cooldown(phase *v1alpha1.CooldownPhase) {
	at := p.path.Child("cooldown")
	kinds := 0
	for _, given := range []bool{phase.Duration != nil, phase.UntilCredits != nil, phase.Redrain != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		p.problems = append(p.problems, field.Required(at, "set exactly one of duration, untilCredits and redrain"))
		return
	}
	if phase.Redrain == nil && (p.phase.Workload != nil || len(p.phase.TargetWorkloads) > 0) {
		p.warn(p.path, "the workload is not used, because only a redrain generates load: remove it")
	}
	switch {
	case phase.Duration != nil:
		if phase.MaxDuration != nil {
			p.problems = append(p.problems, field.Forbidden(at.Child("maxDuration"),
				"applies only to untilCredits and redrain: remove it"))
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

// pause parses an idle time, which must be longer than zero.
func (m *maker) pause(at *field.Path, text v1alpha1.Duration) (time.Duration, bool) {
	before := len(m.problems)
	length := m.duration(at, text)
	if len(m.problems) == before && length <= 0 {
		m.problems = append(m.problems, field.Invalid(at, string(text),
			"must be longer than 0: use a duration such as 30s, or remove the field"))
	}
	return length, len(m.problems) == before
}

// untilCredits plans an idle step that lasts until every bucket is certain to hold at least the given percentage. The
// step's Duration is computed from the documented limits. The run computes the actual wait from the limits that it
// discovers and from the refill that an earlier cooldown phase has measured. If the bucket of a target remains unknown,
// the step lasts for maxDuration, or ends immediately if maxDuration is not set.
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
	wait, unknown := p.wait(targets, float64(percent))
	switch {
	case len(unknown) == 0:
		step.Duration = wait
		if step.Limit > 0 && wait > step.Limit {
			p.warn(at.Child("maxDuration"), "the pause ends after %s, but the buckets may need up to %s to refill to %d %%: raise maxDuration",
				length(step.Limit), length(wait), percent)
			step.Duration = step.Limit
		}
	case !p.earlierRedrain():
		p.warnUnknown(at, step.Limit, unknown)
		if step.Limit == 0 && !p.discovered(unknown) {
			step.Limit = time.Second
		}
	}
	step.Limit = cmp.Or(step.Limit, p.deadline)
	p.add(step, "")
}

// wait returns how long the targets must idle until their buckets are certain to hold at least the given percentage.
// unknown lists the targets without a known bucket.
func (m *maker) wait(targets []string, percent float64) (wait time.Duration, unknown []string) {
	for _, target := range targets {
		known := m.forecasts[target]
		if known == nil {
			unknown = append(unknown, target)
			continue
		}
		wait = max(wait, wholeSeconds(known.account.SecondsTo(percent)))
	}
	return wait, unknown
}

func (p *phaseMaker) warnUnknown(at *field.Path, limit time.Duration, unknown []string) {
	waits := "the phase does not wait, because maxDuration is not set"
	if limit > 0 {
		waits = "the phase waits for maxDuration, " + string(length(limit))
	}
	if p.discovered(unknown) {
		p.warn(at.Child("untilCredits"), "the duration is unknown until the run discovers the limits of target %s, because the file does not set them. If "+
			"none are found and no earlier phase measures the refill, %s", strings.Join(unknown, ", "), waits)
		return
	}
	p.warn(at.Child("untilCredits"), "the credits of target %s are unknown, because its limits do not set baseline, burst and "+
		"bucket, and no earlier phase measures the refill: %s", strings.Join(unknown, ", "), waits)
}

// discovered reports whether the run may discover the limits of the given targets when it begins. The caller has
// checked that the limits of all of them are unknown.
func (m *maker) discovered(targets []string) bool {
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		_, known := m.documented[target.Name]
		given := target.DocumentedLimits()
		declared := given != nil && (given.Preset != "" || given.Throughput != nil || given.IOPS != nil)
		if slices.Contains(targets, target.Name) && known && declared {
			return false
		}
	}
	return true
}

// redrain plans idle time and then another drain. All targets idle together; the drains take turns if the phase is
// Sequential.
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
		p.warnTooShort(at.Child("maxDuration"), pause, &step)
		if !p.add(step, "drain") {
			return
		}
	}
}

// redrainTimes returns the minimum and the maximum duration of the drain after the pause. By default, both come from
// the last burstDrain phase before the cooldown. If maxDuration is set, it limits the pause and the drain together, so
// the maximum is maxDuration minus the pause.
func (p *phaseMaker) redrainTimes(at *field.Path, phase *v1alpha1.CooldownPhase, pause time.Duration) (drainTimes, bool) {
	before := len(p.problems)
	times := drainTimes{least: p.duration(at, v1alpha1.DefaultMinDuration)}
	drained := p.earlierDrain()
	if drained != nil {
		var sound bool
		// The plan of the drain's own phase has already reported problems with the drain's times.
		if times, sound = (&maker{}).drainTimes(at, drained); !sound {
			return times, false
		}
	}
	switch {
	case phase.MaxDuration != nil:
		most, sound := p.pause(at.Child("maxDuration"), *phase.MaxDuration)
		if times.most = most - pause; sound && times.most < time.Second {
			p.problems = append(p.problems, field.Invalid(at.Child("maxDuration"), string(*phase.MaxDuration),
				"leaves no time for the drain after the pause of "+string(phase.Redrain.Idle)+": raise maxDuration by the length of a drain"))
		}
	case drained == nil:
		p.problems = append(p.problems, field.Required(at.Child("maxDuration"),
			"no earlier burstDrain phase sets how long the drain may take: put a burstDrain phase before this one, "+
				"so that the bucket is empty when the pause starts, or set maxDuration (pause and drain together)"))
	}
	return times, len(p.problems) == before
}

// wholeSeconds rounds up to whole seconds, ignoring floating-point errors below 1e-6 s, and returns at most 1000
// days.
func wholeSeconds(seconds float64) time.Duration {
	const most = 1000 * 24 * 3600
	return time.Duration(math.Ceil(min(seconds, most)-1e-6)) * time.Second
}

// length formats a duration as in a specification.
func length(d time.Duration) v1alpha1.Duration { return v1alpha1.DurationOf(d) }
