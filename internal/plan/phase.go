package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// maxIDLength is the API's limit on the length of a step's ID.
const maxIDLength = 63

// phaseMaker plans one phase.
type phaseMaker struct {
	*maker
	index int
	phase *v1alpha1.Phase
	path  *field.Path
	// first is the index, in the plan, of the phase's first step. words contains, for each step, the last part of its
	// ID, which follows the phase and the target.
	first int
	words []string
	loads map[string]load
	// proven is true once all remaining steps are known to be valid, so that they need no further checks.
	proven bool
}

// load is the workload of a target in a phase: its engine, its specification and the path of the specification. The
// zero value means that the workload cannot run.
type load struct {
	engine.Load
	spec *v1alpha1.Engine
	path *field.Path
}

// profile returns the field path of the engine's settings, such as spec.run.workload.fio.
func (l load) profile() *field.Path { return l.path.Child(string(l.Kind)) }

// groups returns the groups of targets that are loaded together, in execution order.
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

// step returns a step for all clients of the targets.
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
		Reused:     map[string]bool{},
	}
	if purpose == Idle {
		made.Clients = 0
		return made
	}
	for _, target := range targets {
		if p.loads[target].SpansClients {
			made.Processes = p.demands.processes(Overrides{})
		}
	}
	return made
}

// loadable resolves the workloads of all targets and reports whether all of them can run.
func (p *phaseMaker) loadable() bool {
	sound := true
	for _, target := range targetNames(p.run) {
		if _, done := p.loads[target]; !done {
			p.loads[target] = p.workload(p.path, p.phase, target)
		}
		sound = sound && p.loads[target].spec != nil
	}
	return sound && p.compatible()
}

// add plans a step. If it returns false, planning failed, and the caller skips the phase's remaining steps.
func (p *phaseMaker) add(step Step, word string) bool {
	if len(p.plan.Steps) == maxSteps {
		p.tooManySteps = true
		p.problems = append(p.problems, field.TooMany(p.root.Child("phases"), maxSteps+1, maxSteps))
		p.problems[len(p.problems)-1].Detail = fmt.Sprintf(
			"phase %s exceeds the limit of %d steps per run: shorten its axes, or split the benchmark", step.Phase, maxSteps)
		return false
	}
	if step.Purpose != Idle {
		if !p.validateStep(&step) {
			return false
		}
		for _, target := range step.Targets {
			step.Workloads[target] = p.loads[target].spec
			p.planLayout(target, &step)
		}
	}
	step.Limit, step.RunLimit = min(step.Limit, p.deadline), p.deadline
	p.charge(&step)
	p.plan.Steps = append(p.plan.Steps, step)
	p.words = append(p.words, word)
	return true
}

// validateStep reports whether the step can run on the data that is laid out.
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

// fits returns false if the step reads data that was not written. If the tool's input cannot be rendered, fits reports
// a problem but returns true, so that the other targets are also checked.
func (p *phaseMaker) fits(step *Step, target string) bool {
	one, use := p.loads[target], step.For(target)
	err := p.renders(one.Load, one.spec, use)
	if err == nil {
		var made engine.Description
		if made, err = p.demands.describe(one.spec, use); err == nil {
			return p.readable(target, step, &made)
		}
		err = fmt.Errorf("determine the files of the workload: %w", err)
	}
	p.addOnce(p.loadErrors(&one, step, err)...)
	return true
}

// loadErrors returns the reasons why a load cannot run in the phase. It returns an error for each invalid field of the
// load. If the step overrides fields, or the cause does not name a field, it returns a single error for the phase.
func (p *phaseMaker) loadErrors(one *load, step *Step, err error) field.ErrorList {
	overrides := ""
	if step.Cell >= 0 {
		overrides = step.Overrides.String()
	}
	var of utilerrors.Aggregate
	var problems field.ErrorList
	var details []string
	if errors.As(err, &of) {
		for _, cause := range of.Errors() {
			var problem *field.Error
			if !errors.As(cause, &problem) {
				problems, details = nil, nil
				break
			}
			copied := *problem
			copied.Field = one.path.String() + "." + problem.Field
			problems, details = append(problems, &copied), append(details, copied.Field+": "+copied.Detail)
		}
	}
	switch {
	case problems != nil && overrides == "":
		return problems
	case problems != nil:
		return field.ErrorList{field.Invalid(p.path, step.Phase, fmt.Sprintf("does not work with %s: %s", overrides, strings.Join(details, "; ")))}
	case overrides != "":
		overrides = " and " + overrides
	}
	return field.ErrorList{field.Invalid(p.path, step.Phase, fmt.Sprintf("does not work with %s%s: %s", one.profile(), overrides, err))}
}

// renders checks that the tool's input can be rendered, so that no run fails for that reason hours later.
func (m *maker) renders(load engine.Load, spec *v1alpha1.Engine, use engine.Step) error {
	key := useOf{spec, use}
	if m.rendered[key] {
		return nil
	}
	err := load.Prove(&use)
	m.rendered[key] = err == nil
	return err
}

// name sets the IDs of the phase's steps once their number is known.
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

// workload returns the load of a target in a phase. It prefers the phase's workload for that target, then the workload
// of the phase, then the workload of the run. If the load cannot run, it reports the reason and returns the zero value.
func (m *maker) workload(path *field.Path, phase *v1alpha1.Phase, target string) load {
	chosen, at := m.run.WorkloadOf(phase, target), m.workloadPath(path, phase, target)
	switch {
	case chosen == nil:
		m.addOnce(field.Required(path.Child("workload"), "neither the phase nor spec.run has a workload: set one of them"))
		return load{}
	case chosen.ProfileRef != nil:
		m.addOnce(field.Forbidden(at.Child("profileRef"), "not allowed in a BenchmarkRun: replace the reference with the profile's spec"))
		return load{}
	}
	made := load{Load: engines.Of(&chosen.Engine), spec: &chosen.Engine, path: at}
	if made.Kind == "" {
		m.addOnce(field.Required(at, engines.Missing()))
		return load{}
	}
	if problems := made.Validate(made.profile()); len(problems) > 0 {
		m.addOnce(problems...)
		return load{}
	}
	return made
}

// workloadPath returns the path of the workload that WorkloadOf returns.
func (m *maker) workloadPath(path *field.Path, phase *v1alpha1.Phase, target string) *field.Path {
	switch m.run.WorkloadOf(phase, target) {
	case m.run.Workload:
		return m.root.Child("workload")
	case phase.Workload:
		return path.Child("workload")
	}
	own := slices.IndexFunc(phase.TargetWorkloads, func(w v1alpha1.TargetWorkload) bool { return w.Target == target })
	return path.Child("targetWorkloads").Index(own).Child("workload")
}
