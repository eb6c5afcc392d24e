package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/search"
)

// search plans as many steps as the search may need. The rate that a step offers depends on the results of earlier
// steps, so the plan has no rates; see Step.Offering.
func (p *phaseMaker) search(phase *v1alpha1.SearchPhase) {
	before := len(p.problems)
	at := p.path.Child("search")
	question, problems := search.Of(at, phase, p.plan.ClientsPerTarget)
	p.problems = append(p.problems, problems...)
	warmUp := p.duration(at.Child("warmUp"), phase.WarmUp)
	switch phase.Regime {
	case v1alpha1.RegimeAny, v1alpha1.RegimeBaseline:
	default:
		p.problems = append(p.problems, field.NotSupported(at.Child("regime"), phase.Regime, []v1alpha1.Regime{v1alpha1.RegimeBaseline, v1alpha1.RegimeAny}))
	}
	if len(p.run.Targets) > 1 && p.phase.Mode != v1alpha1.PhaseSequential {
		p.problems = append(p.problems, field.Invalid(p.path.Child("mode"), p.phase.Mode,
			"a search loads one target at a time, because each has its own highest rate: set mode to Sequential"))
	}
	p.refuseDegraded()
	if !p.searchable() || len(p.problems) > before {
		return
	}
	duration := p.lasting(at.Child("stepDuration"), phase.StepDuration)
	measured := func(group []string) Step {
		step := p.measured(group, warmUp, duration)
		step.MaxIOPS = question.Max
		return step
	}
	for _, group := range p.groups() {
		for _, rate := range []int64{question.Min, question.Max} {
			step := measured(group).Offering(rate, question.Latency)
			if step.Cell = 0; !p.validateStep(&step) {
				return
			}
			p.caution(&step)
		}
		if phase.Regime == v1alpha1.RegimeBaseline && !p.drainFirst(at, group, cell{}) {
			return
		}
		most := question.Trials + question.Confirming
		if phase.Regime == v1alpha1.RegimeAny {
			step := measured(group)
			p.warnInBurst(at.Child("regime"), &step, most)
		}
		for i := range most {
			step := measured(group)
			step.Cell, step.Confirms = i, i >= question.Trials
			word := ""
			if step.Confirms {
				word = "confirm"
			}
			if !p.add(step, word) {
				return
			}
		}
	}
}

// caution adds the engines' warnings about the loads of the step to the plan.
func (p *phaseMaker) caution(step *Step) {
	for _, target := range step.Targets {
		one := p.loads[target]
		if made, err := p.demands.describe(one.spec, step.For(target)); err == nil {
			for _, text := range made.Cautions {
				p.warn(one.profile(), "%s", text)
			}
		}
	}
}

// searchable reports whether the workloads of all targets are suitable for a search. It adds a problem for each
// unsuitable workload.
func (p *phaseMaker) searchable() bool {
	if !p.loadable() {
		return false
	}
	before := len(p.problems)
	for _, target := range targetNames(p.run) {
		if one := p.loads[target]; !one.TimesOperations {
			p.addOnce(field.Forbidden(one.profile(), "a search needs the latency of single operations, which only fio measures: use a fio workload for the phase"))
		}
	}
	return len(p.problems) == before
}

// Offering returns a copy of the step that offers the given rate, in operations per second over all clients, and has
// the latency bound of the search's objective.
func (s Step) Offering(iops int64, latency time.Duration) Step {
	s.Overrides.Offer = engine.Offer{IOPS: iops / int64(max(1, s.Clients)), Latency: latency}
	return s
}

// Offered returns the rate that the step offers, over all clients. It returns 0 if the rate has not been chosen yet, or
// if the load is a closed loop.
func (s Step) Offered() int64 { return s.Overrides.Offer.IOPS * int64(max(1, s.Clients)) }
