package plan

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// RunsCommand reports whether clients of a target run a program of the user's in the step.
func (s Step) RunsCommand(target string) bool {
	engine := s.Workloads[target]
	return engine != nil && engine.Command != nil
}

// setsUp says that the step is the setup of a command, right before it.
func (s Step) setsUp() bool { return s.Purpose == Prepare && s.Kind != v1alpha1.PhasePrepare }

// setupKey is a setup on a target.
type setupKey struct{ target, setup string }

// setupOf is false where there is none.
func (p *phaseMaker) setupOf(target string) (setupKey, bool) {
	profile := p.loads[target].engine.Command
	if profile == nil || len(profile.Setup) == 0 {
		return setupKey{}, false
	}
	return setupKey{target: target, setup: strings.Join(append([]string{profile.WorkingDirectory}, profile.Setup...), "\x00")}, true
}

// setupLayer is what decides what a setup makes, as far as is known.
type setupLayer struct {
	Target           string
	Setup            []string
	WorkingDirectory string
}

// noteSetUp remembers the setups of a prepare phase.
func (p *phaseMaker) noteSetUp(targets []string) {
	for _, target := range targets {
		if key, has := p.setupOf(target); has {
			p.setUps[key] = true
		}
	}
}

// unprepared are the targets whose command has a setup that no prepare phase has run.
func (p *phaseMaker) unprepared(targets []string) []string {
	var all []string
	for _, target := range targets {
		if key, has := p.setupOf(target); has && !p.setUps[key] {
			all = append(all, target)
		}
	}
	return all
}

// setUp adds a step of their own for the setups that no prepare phase has run. It is false where that failed.
func (p *phaseMaker) setUp(targets []string) bool {
	wanting := p.unprepared(targets)
	if len(wanting) == 0 {
		return true
	}
	step := p.step(Prepare, wanting)
	step.Limit = p.deadline
	return p.add(step, "setup")
}

// setUpBefore refuses a phase of many steps whose setup nobody has run: between them it would be in the way.
func (p *phaseMaker) setUpBefore(targets []string) bool {
	wanting := p.unprepared(targets)
	if len(wanting) == 0 {
		return true
	}
	p.addOnce(field.Invalid(p.path, p.phase.Name, "the command has a setup, which is not run between the steps of a ramp: "+
		"put a phase with `prepare: {}` and the same workload before it"))
	return false
}

// boundByWork says that the load of a target ends with its work, and not at a time.
func (p *phaseMaker) boundByWork(target string) bool {
	engine := p.loads[target].engine
	return engine.Mdtest != nil || engine.Command != nil
}

// suitsCommand names what of a phase means nothing to a program of the user's.
func (p *phaseMaker) suitsCommand(one load) {
	invalid := func(at *field.Path, value any, why string) { p.addOnce(field.Invalid(at, value, why)) }
	noWarmUp := func(at *field.Path, warmUp v1alpha1.Duration) {
		if length, err := warmUp.Parse(); err == nil && length > 0 {
			invalid(at.Child("warmUp"), string(warmUp), "a program is measured from its start to its end: remove it")
		}
	}
	const endless = "a program ends when its work is done, whether there are credits left or not: give this phase a workload of fio or ior, " +
		"and measure the program in a steady phase"
	switch phase := p.phase; {
	case phase.Prepare != nil:
		if len(one.engine.Command.Setup) == 0 {
			p.addOnce(field.Required(one.path.Child("command", "setup"), "it is all that a prepare phase runs of a command: give it, or leave the phase "+
				p.phase.Name+" out, or give that phase another workload"))
		}
		if phase.Prepare.Precondition != nil && *phase.Prepare.Precondition > 0 {
			invalid(p.path.Child("prepare", "precondition"), *phase.Prepare.Precondition, "what a setup made is not overwritten: remove it")
		}
	case phase.Steady != nil:
		noWarmUp(p.path.Child("steady"), phase.Steady.WarmUp)
		if phase.Steady.EndWhenSteady != nil && *phase.Steady.EndWhenSteady {
			invalid(p.path.Child("steady", "endWhenSteady"), true, "a program ends when its work is done: remove it")
		}
	case phase.BurstDrain != nil:
		p.addOnce(field.Forbidden(p.path.Child("burstDrain"), endless))
	case phase.Cooldown != nil:
		p.addOnce(field.Forbidden(p.path.Child("cooldown", "redrain"), endless))
	case phase.Ramp != nil:
		noWarmUp(p.path.Child("ramp"), phase.Ramp.WarmUp)
		if phase.Ramp.Dimension != v1alpha1.RampClients {
			invalid(p.path.Child("ramp", "dimension"), phase.Ramp.Dimension, "a program has no jobs, queue depth or ranks that could be raised: use Clients, "+
				"or a phase of each with other arguments of the program")
		}
	case phase.Sweep != nil:
		p.addOnce(field.Forbidden(p.path.Child("sweep"), "no axis of a sweep means anything to a program: use a ramp of Clients, or a phase of each with "+
			"other arguments of the program"))
	}
}

// layCommand keeps the space that a program says to need, once for its setup and itself.
func (m *maker) layCommand(target string, step *Step, profile *v1alpha1.CommandProfile) {
	if profile.DatasetSize == nil {
		return
	}
	key, err := json.Marshal(profile)
	if err != nil {
		panic(err) // it holds nothing that JSON cannot say
	}
	data := m.dataset(target)
	if data.programs[string(key)] {
		return
	}
	data.programs[string(key)] = true
	step.NewBytes[target] += uint64(profile.DatasetSize.Value()) //nolint:gosec // It was proven to be positive.
}
