package plan

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// steadyRounds is the shortest time in which a steady state can be evaluated: five rounds of one minute.
const steadyRounds = 5 * time.Minute

// prepare plans steps that lay out the dataset of each target and, if preconditioning is set, overwrite it.
func (p *phaseMaker) prepare(phase *v1alpha1.PreparePhase) {
	before := len(p.problems)
	limit := p.deadline
	if phase.MaxDuration != nil {
		limit = p.lasting(p.path.Child("prepare", "maxDuration"), *phase.MaxDuration)
	}
	passes := 0
	if phase.Precondition != nil {
		passes = int(*phase.Precondition)
	}
	if !p.loadable() || len(p.problems) > before {
		return
	}
	for _, group := range p.groups() {
		layout := p.step(Prepare, group)
		layout.Limit = limit
		if !p.add(layout, "") {
			return
		}
		p.noteSetUp(group)
		if passes == 0 {
			continue
		}
		overwrite := p.step(Precondition, group)
		overwrite.Passes, overwrite.Limit = passes, limit
		if !p.add(overwrite, "precondition") {
			return
		}
	}
}

// steady plans a measurement of a given duration.
func (p *phaseMaker) steady(phase *v1alpha1.SteadyPhase) {
	before := len(p.problems)
	at := p.path.Child("steady")
	warmUp := p.duration(at.Child("warmUp"), phase.WarmUp)
	duration := p.lasting(at.Child("duration"), phase.Duration)
	if !p.loadable() || len(p.problems) > before {
		return
	}
	for _, group := range p.groups() {
		if !p.setUp(group) {
			return
		}
		step := p.measured(group, warmUp, duration)
		if step.Duration == 0 && !p.loads[group[0]].Opaque {
			p.warn(at.Child("duration"), "%s does a fixed amount of work: the phase ends when it is complete, and fails if that takes longer than %s",
				p.loads[group[0]].Kind, phase.Duration)
		}
		if phase.EndWhenSteady != nil && *phase.EndWhenSteady {
			step.EndWhenSteady, step.MinDuration = true, steadyRounds
			if duration <= steadyRounds {
				p.warn(at.Child("endWhenSteady"), "steady state needs five 1-minute windows, so a phase of %s never ends early: "+
					"raise duration, or remove endWhenSteady", phase.Duration)
			}
		}
		if step.Duration > 0 {
			p.warnInBurst(at.Child("duration"), &step, 1)
		}
		if !p.add(step, "") {
			return
		}
	}
}

// measured returns a step that measures for duration. If the workload has a fixed amount of work, the step ends when
// that work is done or after duration, whichever comes first.
func (p *phaseMaker) measured(targets []string, warmUp, duration time.Duration) Step {
	step := p.step(Measure, targets)
	step.WarmUp, step.Duration = warmUp, duration
	step.Limit = warmUp + duration + measuredSlack
	if len(targets) > 0 && p.loads[targets[0]].WorkBound {
		// Check only the first workload: compatibleTogether refuses to mix workloads that do a fixed amount of work with
		// others.
		step.Duration, step.Limit = 0, duration
	}
	return step
}

// drainTimes holds the minimum and maximum duration of a drain.
type drainTimes struct{ least, most time.Duration }

// drain returns a step that loads the targets until the credits are spent.
func (p *phaseMaker) drain(targets []string, times drainTimes) Step {
	step := p.step(Drain, targets)
	step.MinDuration, step.Duration = min(times.least, times.most), times.most
	step.Limit = times.most + measuredSlack
	return step
}

// idle returns a step that loads nothing.
func (p *phaseMaker) idle(targets []string, length time.Duration) Step {
	step := p.step(Idle, targets)
	step.Duration, step.Limit = length, length
	return step
}

// burstDrain plans a load that lasts until the burst credits are spent.
func (p *phaseMaker) burstDrain(phase *v1alpha1.BurstDrainPhase) {
	times, sound := p.drainTimes(p.path.Child("burstDrain"), phase)
	if !p.loadable() || !sound {
		return
	}
	for _, group := range p.groups() {
		step := p.drain(group, times)
		p.warnPartEmpty(&step)
		p.warnTooShort(p.path.Child("burstDrain", "maxDuration"), 0, &step)
		p.warnLaterDrops(p.path.Child("burstDrain", "maxDuration"), &step)
		if !p.add(step, "") {
			return
		}
	}
}

func (m *maker) drainTimes(at *field.Path, phase *v1alpha1.BurstDrainPhase) (drainTimes, bool) {
	before := len(m.problems)
	leastText := cmp.Or(phase.MinDuration, v1alpha1.DefaultMinDuration)
	times := drainTimes{
		least: m.duration(at.Child("minDuration"), leastText),
		most:  m.lasting(at.Child("maxDuration"), phase.MaxDuration),
	}
	if len(m.problems) == before && times.least > times.most {
		m.problems = append(m.problems, field.Invalid(at.Child("maxDuration"), string(phase.MaxDuration),
			"must be at least minDuration, "+string(leastText)+": raise it, or lower minDuration"))
	}
	return times, len(m.problems) == before
}

// earlierDrain returns the last burstDrain phase before the current phase.
func (p *phaseMaker) earlierDrain() *v1alpha1.BurstDrainPhase {
	for i := p.index - 1; i >= 0; i-- {
		if found := p.run.Phases[i].BurstDrain; found != nil {
			return found
		}
	}
	return nil
}

// earlierRedrain reports whether a phase before the current phase measures the refill.
func (p *phaseMaker) earlierRedrain() bool {
	return slices.ContainsFunc(p.run.Phases[:p.index], func(phase v1alpha1.Phase) bool {
		return phase.Cooldown != nil && phase.Cooldown.Redrain != nil
	})
}
