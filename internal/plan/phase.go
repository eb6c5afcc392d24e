package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// maxIDLength is the API's limit for the ID of a step.
const maxIDLength = 63

// phaseMaker plans one phase.
type phaseMaker struct {
	*maker
	index int
	phase *v1alpha1.Phase
	path  *field.Path
	// first is the index of the phase's first step, and words what is special about each, in its ID.
	first int
	words []string
	loads map[string]load
	// proven says that all steps that are still to come were proven to fit.
	proven bool
}

// load is what a target does in a phase, and where that is written. Its engine is nil where it cannot be run.
type load struct {
	engine *v1alpha1.Engine
	path   *field.Path
}

// groups are the targets that are loaded together, in the order of their turns.
func (p *phaseMaker) groups() [][]string {
	targets := targetNames(p.run)
	if p.phase.Mode != v1alpha1.PhaseSequential {
		return [][]string{targets}
	}
	var groups [][]string
	for _, target := range targets {
		groups = append(groups, []string{target})
	}
	return groups
}

// step begins one of all clients.
func (p *phaseMaker) step(purpose Purpose, targets []string) Step {
	made := Step{
		Phase:      p.phase.Name,
		PhaseIndex: p.index,
		Number:     len(p.words),
		Kind:       p.phase.Kind(),
		Purpose:    purpose,
		Targets:    targets,
		Clients:    p.plan.ClientsPerTarget,
		Cell:       -1,
		Workloads:  map[string]*v1alpha1.Engine{},
		NewBytes:   map[string]uint64{},
	}
	if purpose == Idle {
		made.Clients = 0
		return made
	}
	for _, target := range targets {
		if p.loads[target].engine.SpansClients() {
			made.Processes = p.processes()
		}
	}
	return made
}

// loadable resolves what all targets do; false when one of them has nothing that can be run.
func (p *phaseMaker) loadable() bool {
	sound := true
	for _, target := range targetNames(p.run) {
		if _, done := p.loads[target]; !done {
			engine, path := p.workload(p.path, p.phase, target)
			p.loads[target] = load{engine: engine, path: path}
		}
		sound = sound && p.loads[target].engine != nil
	}
	return sound && p.compatible()
}

// add plans a step. It is false where that failed, and then there is no use in the phase's others.
func (p *phaseMaker) add(step Step, word string) bool {
	if len(p.plan.Steps) == maxSteps {
		p.tooManySteps = true
		p.problems = append(p.problems, field.TooMany(p.root.Child("phases"), maxSteps+1, maxSteps))
		p.problems[len(p.problems)-1].Detail = fmt.Sprintf(
			"a run has at most %d steps; with phase %s it has more: shorten its axes, or make several benchmarks of it", maxSteps, step.Phase)
		return false
	}
	if step.Purpose != Idle {
		if !p.validateStep(&step) {
			return false
		}
		for _, target := range step.Targets {
			one := p.loads[target]
			step.Workloads[target] = one.engine
			switch {
			case one.engine.SpansClients():
				p.layRanks(one.path, target, &step, one.engine)
			case one.engine.Command != nil:
				p.layCommand(target, &step, one.engine.Command)
			default:
				p.planLayout(one.path, target, &step, one.engine.Fio)
			}
		}
	}
	step.Limit = min(step.Limit, p.deadline)
	p.charge(&step)
	p.plan.Steps = append(p.plan.Steps, step)
	p.words = append(p.words, word)
	return true
}

// validateStep checks that the step can be run on what is laid out.
func (p *phaseMaker) validateStep(step *Step) bool {
	if !p.setLayoutJobs(step) {
		return false
	}
	before := len(p.problems)
	for _, target := range step.Targets {
		if !p.proven && !p.fits(step, target) {
			break
		}
	}
	return len(p.problems) == before
}

// fits is false where the step reads what is not there. That its tool's input cannot be made is a problem too,
// and no reason to leave other targets out.
func (p *phaseMaker) fits(step *Step, target string) bool {
	one := p.loads[target]
	switch {
	case one.engine.SpansClients():
		return !p.rendersRanks(step, one) || p.readableRanks(target, step, one.engine)
	case one.engine.Command != nil:
		return true // what it reads nobody knows
	}
	return !p.renders(step, one) || p.readable(p.path, target, step, one.engine.Fio)
}

// renders proves that the tool's input can be made, so that no run fails for it hours later.
func (p *phaseMaker) renders(step *Step, one load) bool {
	key := renderOf(one.engine.Fio, step)
	if p.rendered[key] {
		return true
	}
	if _, err := fio.Render(one.engine.Fio, step.FioParameters(p.seed, 0)); err != nil {
		at := one.path.Child("fio").String()
		if step.Cell >= 0 {
			at += " and " + step.Overrides.String()
		}
		p.addOnce(field.Invalid(p.path, step.Phase, fmt.Sprintf("%s with %s: change the phase or the workload", err, at)))
		return false
	}
	p.rendered[key] = true
	return true
}

// name gives the phase's steps their IDs, once it is known how many there are.
func (p *phaseMaker) name() {
	steps := p.plan.Steps[p.first:]
	sequential := p.phase.Mode == v1alpha1.PhaseSequential && len(p.run.Targets) > 1
	targets := 0
	for i := range steps {
		if sequential && len(steps[i].Targets) == 1 {
			targets++
		}
	}
	for i := range steps {
		step := &steps[i]
		name, word := step.Phase, p.words[i]
		if sequential && len(step.Targets) == 1 {
			name += "-" + step.Targets[0]
		}
		var prefix string
		switch {
		case len(steps) == 1:
			prefix, word = fmt.Sprintf("%02d-", p.index), ""
		case targets == len(steps) && targets == len(p.run.Targets):
			prefix, word = fmt.Sprintf("%02d-%02d-", p.index, i), ""
		case len(steps) > 1000:
			prefix = fmt.Sprintf("%02d-%04d-", p.index, i)
		default:
			prefix = fmt.Sprintf("%02d-%03d-", p.index, i)
		}
		if word != "" {
			word = "-" + word
		}
		room := maxIDLength - len(prefix) - len(word)
		step.ID = prefix + strings.TrimRight(name[:min(len(name), room)], "-") + word
	}
}

// workload is what a target does in a phase: the phase's own for that target, the phase's, or the
// run's. It is nil when there is none that can be run.
func (m *maker) workload(path *field.Path, phase *v1alpha1.Phase, target string) (*v1alpha1.Engine, *field.Path) {
	chosen, chosenPath := m.chosen(path, phase, target)
	switch {
	case chosen == nil:
		m.addOnce(field.Required(path.Child("workload"), "neither the phase nor spec.run has a workload: give one of them"))
		return nil, nil
	case chosen.ProfileRef != nil:
		m.addOnce(field.Forbidden(chosenPath.Child("profileRef"), "a run holds no profileRef; put the profile's spec in its place"))
		return nil, nil
	case chosen.EngineKind() == "":
		m.addOnce(field.Required(chosenPath, "there is no engine in it: give fio, ior, mdtest or command"))
		return nil, nil
	}
	var problems field.ErrorList
	switch chosen.EngineKind() {
	case v1alpha1.EngineFio:
		problems = fio.Validate(chosenPath.Child("fio"), chosen.Fio)
	case v1alpha1.EngineIOR:
		problems = ior.Validate(chosenPath.Child("ior"), chosen.IOR)
	case v1alpha1.EngineMdtest:
		problems = ior.ValidateMdtest(chosenPath.Child("mdtest"), chosen.Mdtest)
	case v1alpha1.EngineCommand:
		problems = command.Validate(chosenPath.Child("command"), chosen.Command)
	}
	if len(problems) > 0 {
		m.addOnce(problems...)
		return nil, nil
	}
	return &chosen.Engine, chosenPath
}

// chosen is the workload that is written for a target in a phase, valid or not; nil where there is none.
func (m *maker) chosen(path *field.Path, phase *v1alpha1.Phase, target string) (*v1alpha1.Workload, *field.Path) {
	chosen, chosenPath := m.run.Workload, m.root.Child("workload")
	if phase.Workload != nil {
		chosen, chosenPath = phase.Workload, path.Child("workload")
	}
	for i := range phase.TargetWorkloads {
		if phase.TargetWorkloads[i].Target == target {
			chosen = &phase.TargetWorkloads[i].Workload
			chosenPath = path.Child("targetWorkloads").Index(i).Child("workload")
		}
	}
	return chosen, chosenPath
}
