package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

const (
	// measuredSlack is how long a measured step may take beyond its own time: the tool has to
	// start, and what is in flight at the end has to come back. Load itself ends by the tool's own
	// clock.
	measuredSlack = time.Minute
	// defaultDeadline is the API's, for a specification without its defaults.
	defaultDeadline = 48 * time.Hour
	// maxIDLength is the API's limit for the ID of a step.
	maxIDLength = 63
)

// Make plans a resolved run. All problems are returned together, each with its field; the plan is
// of use only when there are none.
func Make(run *v1alpha1.RunSpec) (Plan, field.ErrorList) {
	m := maker{run: run, root: field.NewPath("spec", "run"), datasets: map[string]*dataset{}}
	m.plan.ClientsPerTarget = max(1, int(run.Clients.Count))
	m.deadline = m.duration(m.root.Child("activeDeadline"), run.ActiveDeadline)
	if m.deadline <= 0 {
		m.deadline = defaultDeadline
	}
	m.refuseAmbiguous()
	m.refuseTargets()
	m.refuseUnbuilt()
	for i := range run.Phases {
		m.phase(i, &run.Phases[i])
	}
	m.refuseTooLong()
	m.plan.DatasetHash = m.datasetHash()
	return m.plan, m.problems
}

// maker holds what is known while phases are planned one after the other.
type maker struct {
	run      *v1alpha1.RunSpec
	root     *field.Path
	deadline time.Duration
	plan     Plan
	problems field.ErrorList
	datasets map[string]*dataset
}

func (m *maker) phase(index int, phase *v1alpha1.Phase) {
	path := m.root.Child("phases").Index(index)
	targets := targetNames(m.run)
	if phase.Mode != v1alpha1.PhaseSequential || len(targets) < 2 {
		m.step(path, index, phase, fmt.Sprintf("%02d-%s", index, phase.Name), targets)
		return
	}
	for i, target := range targets {
		m.step(path, index, phase, fmt.Sprintf("%02d-%02d-%s-%s", index, i, phase.Name, target), []string{target})
	}
}

func (m *maker) step(path *field.Path, index int, phase *v1alpha1.Phase, id string, targets []string) {
	step := Step{
		ID:         strings.TrimRight(id[:min(len(id), maxIDLength)], "-"),
		Phase:      phase.Name,
		PhaseIndex: index,
		Kind:       phase.Kind(),
		Targets:    targets,
		Workloads:  map[string]*v1alpha1.Engine{},
		NewBytes:   map[string]uint64{},
	}
	sound := m.times(path, phase, &step)
	if step.Purpose == "" {
		return
	}
	for _, target := range targets {
		engine, enginePath := m.workload(path, phase, target)
		if !sound || engine == nil || !m.renders(path, enginePath, &step, engine.Fio) {
			// Whatever this phase would have laid out, its lack is not a second mistake.
			m.dataset(target).unknown = m.dataset(target).unknown || step.Purpose == Prepare
			sound = false
			continue
		}
		step.Workloads[target] = engine
		sound = m.layout(path, enginePath, target, &step, engine.Fio)
	}
	if sound {
		m.plan.Steps = append(m.plan.Steps, step)
	}
}

// times sets how long the step takes; false when its kind or its times cannot be planned.
func (m *maker) times(path *field.Path, phase *v1alpha1.Phase, step *Step) bool {
	before := len(m.problems)
	switch step.Kind {
	case v1alpha1.PhasePrepare:
		step.Purpose = Prepare
		step.Limit = m.deadline
		if phase.Prepare.MaxDuration != nil {
			step.Limit = m.duration(path.Child("prepare", "maxDuration"), *phase.Prepare.MaxDuration)
			m.atLeastSecond(before, path.Child("prepare", "maxDuration"), *phase.Prepare.MaxDuration, step.Limit)
		}
	case v1alpha1.PhaseSteady:
		step.Purpose = Measure
		step.WarmUp = m.duration(path.Child("steady", "warmUp"), phase.Steady.WarmUp)
		step.Duration = m.duration(path.Child("steady", "duration"), phase.Steady.Duration)
		m.atLeastSecond(before, path.Child("steady", "duration"), phase.Steady.Duration, step.Duration)
		step.Limit = step.WarmUp + step.Duration + measuredSlack
	default:
		return false
	}
	step.Limit = min(step.Limit, m.deadline)
	return len(m.problems) == before
}

// atLeastSecond refuses what is shorter, unless it was refused already.
func (m *maker) atLeastSecond(before int, path *field.Path, text v1alpha1.Duration, length time.Duration) {
	if len(m.problems) == before && length < time.Second {
		m.problems = append(m.problems, field.Invalid(path, string(text),
			"at least 1s: shorter steps measure nothing; write a longer time such as 60s"))
	}
}

func (m *maker) duration(path *field.Path, text v1alpha1.Duration) time.Duration {
	length, err := text.Parse()
	if err != nil {
		m.problems = append(m.problems, field.Invalid(path, string(text), err.Error()))
	}
	return length
}

// workload is what a target does in a phase: the phase's own for that target, the phase's, or the
// run's. It is nil when there is none that can be run.
func (m *maker) workload(path *field.Path, phase *v1alpha1.Phase, target string) (*v1alpha1.Engine, *field.Path) {
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
	switch {
	case chosen == nil:
		m.addOnce(field.Required(path.Child("workload"), "neither the phase nor spec.run has a workload: give one of them"))
		return nil, nil
	case chosen.ProfileRef != nil:
		m.addOnce(field.Forbidden(chosenPath.Child("profileRef"), "a run holds no profileRef; put the profile's spec in its place"))
		return nil, nil
	case chosen.EngineKind() == "":
		m.addOnce(field.Required(chosenPath, "there is no engine in it: give fio"))
		return nil, nil
	case chosen.Fio == nil:
		m.addOnce(notBuilt(chosenPath.Child(string(chosen.EngineKind())), "the engine "+string(chosen.EngineKind()), "use fio"))
		return nil, nil
	}
	if problems := fio.Validate(chosenPath.Child("fio"), chosen.Fio); len(problems) > 0 {
		m.addOnce(problems...)
		return nil, nil
	}
	return &chosen.Engine, chosenPath
}

// renders proves that the tool's input can be made, so that no run fails for it hours later.
func (m *maker) renders(path, enginePath *field.Path, step *Step, profile *v1alpha1.FioProfile) bool {
	parameters := fio.Parameters{Purpose: fio.Measure, Duration: step.Duration, WarmUp: step.WarmUp}
	if step.Purpose == Prepare {
		parameters = fio.Parameters{Purpose: fio.Prepare}
	}
	if _, err := fio.Render(profile, parameters); err != nil {
		m.addOnce(field.Invalid(path, step.Phase, fmt.Sprintf("%s with %s: change the phase or the workload", err, enginePath.Child("fio"))))
		return false
	}
	return true
}

// addOnce keeps a problem of a shared workload from being told for each phase that uses it.
func (m *maker) addOnce(problems ...*field.Error) {
	for _, problem := range problems {
		if !slices.ContainsFunc(m.problems, func(known *field.Error) bool { return known.Error() == problem.Error() }) {
			m.problems = append(m.problems, problem)
		}
	}
}

// refuseTooLong finds a plan that cannot be done in the time that the run has.
func (m *maker) refuseTooLong() {
	var least time.Duration
	for _, step := range m.plan.Steps {
		least += step.WarmUp + step.Duration
	}
	if least >= m.deadline {
		m.problems = append(m.problems, field.Invalid(m.root.Child("activeDeadline"), string(v1alpha1.DurationOf(m.deadline)),
			fmt.Sprintf("the measured phases alone take %s: raise it (to at most 168h), or shorten them", v1alpha1.DurationOf(least))))
	}
}

func targetNames(run *v1alpha1.RunSpec) []string {
	var names []string
	for _, target := range run.Targets {
		names = append(names, target.Name)
	}
	return names
}
