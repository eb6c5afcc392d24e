package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// setsUp reports whether the step only runs the setup of a command, as preparation for the step that runs the command
// itself.
func (s Step) setsUp() bool { return s.Purpose == Prepare && s.Kind != v1alpha1.PhasePrepare }

// setupKey identifies a setup on a target.
type setupKey struct{ target, setup string }

// setupOf returns the setup of a target's workload. It returns false if the workload has none.
func (p *phaseMaker) setupOf(target string) (setupKey, bool) {
	made, err := p.demands.describe(p.loads[target].spec, engine.Step{Purpose: Prepare, Clients: 1, Processes: 1})
	return setupKey{target: target, setup: made.Setup}, err == nil && made.Setup != ""
}

// noteSetUp records the setups that a prepare phase runs.
func (p *phaseMaker) noteSetUp(targets []string) {
	for _, target := range targets {
		if key, has := p.setupOf(target); has {
			p.setUps[key] = true
		}
	}
}

// unprepared returns the targets whose command has a setup that no prepare phase has run.
func (p *phaseMaker) unprepared(targets []string) []string {
	var all []string
	for _, target := range targets {
		if key, has := p.setupOf(target); has && !p.setUps[key] {
			all = append(all, target)
		}
	}
	return all
}

// setUp adds a step that runs the setups that no prepare phase has run. It returns false if it cannot add the step.
func (p *phaseMaker) setUp(targets []string) bool {
	wanting := p.unprepared(targets)
	if len(wanting) == 0 {
		return true
	}
	step := p.step(Prepare, wanting)
	step.Limit = p.deadline
	return p.add(step, "setup")
}

// setUpBefore refuses a phase with several steps if no prepare phase has run its setup, because a setup cannot run
// between the steps.
func (p *phaseMaker) setUpBefore(targets []string) bool {
	wanting := p.unprepared(targets)
	if len(wanting) == 0 {
		return true
	}
	p.addOnce(field.Invalid(p.path, p.phase.Name, "command.setup is not run between the steps of a ramp: "+
		"put a phase with `prepare: {}` and the same workload before this one"))
	return false
}
