package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// Make plans a resolved run. All problems are returned together, each with its field; the plan is
// of use only when there are none.
func Make(run *v1alpha1.RunSpec) (Plan, field.ErrorList) {
	m := maker{run: run, root: field.NewPath("spec", "run"), laidOut: map[string]map[string]uint64{}, broken: map[string]bool{}}
	m.plan.ClientsPerTarget = max(1, int(run.Clients.Count))
	m.refuseUnbuilt()
	for i := range run.Phases {
		m.phase(i, &run.Phases[i])
	}
	m.plan.DatasetHash = m.datasetHash()
	return m.plan, m.problems
}

// maker holds what is known while phases are planned one after the other.
type maker struct {
	run      *v1alpha1.RunSpec
	root     *field.Path
	plan     Plan
	problems field.ErrorList
	// laidOut is the bytes that phases so far have written in each file, by target and file.
	laidOut map[string]map[string]uint64
	// broken targets have a phase that cannot be planned, so that nothing is known of their layout.
	broken map[string]bool
}

func (m *maker) phase(index int, phase *v1alpha1.Phase) {
	path := m.root.Child("phases").Index(index)
	if phase.Mode == v1alpha1.PhaseSequential {
		for _, target := range targetNames(m.run) {
			m.step(path, index, phase, fmt.Sprintf("%02d-%s-%s", index, phase.Name, target), []string{target})
		}
		return
	}
	m.step(path, index, phase, fmt.Sprintf("%02d-%s", index, phase.Name), targetNames(m.run))
}

func (m *maker) step(path *field.Path, index int, phase *v1alpha1.Phase, id string, targets []string) {
	step := Step{
		ID:         id,
		Phase:      phase.Name,
		PhaseIndex: index,
		Kind:       phase.Kind(),
		Targets:    targets,
		Workloads:  map[string]*v1alpha1.Engine{},
		NewBytes:   map[string]uint64{},
	}
	if !m.times(path, phase, &step) {
		return
	}
	for _, target := range targets {
		engine := m.workload(path, phase, target)
		if engine == nil {
			m.broken[target] = true
			return
		}
		step.Workloads[target] = engine
		if !m.layout(path, target, &step, engine) {
			return
		}
	}
	m.plan.Steps = append(m.plan.Steps, step)
}

// times sets how long the step takes; false when its kind cannot be planned.
func (m *maker) times(path *field.Path, phase *v1alpha1.Phase, step *Step) bool {
	switch step.Kind { //nolint:exhaustive // Kinds that are not built are refused by refuseUnbuilt.
	case v1alpha1.PhasePrepare:
		step.Purpose = Prepare
		step.Limit = m.duration(m.root.Child("activeDeadline"), m.run.ActiveDeadline)
		if phase.Prepare.MaxDuration != nil {
			step.Limit = m.duration(path.Child("prepare", "maxDuration"), *phase.Prepare.MaxDuration)
		}
	case v1alpha1.PhaseSteady:
		step.Purpose = Measure
		step.Duration = m.duration(path.Child("steady", "duration"), phase.Steady.Duration)
		step.WarmUp = m.duration(path.Child("steady", "warmUp"), phase.Steady.WarmUp)
		step.Limit = step.WarmUp + step.Duration + measuredSlack
		if step.Duration < time.Second {
			m.problems = append(m.problems, field.Invalid(path.Child("steady", "duration"),
				string(phase.Steady.Duration), "a measurement takes at least 1s"))
			return false
		}
	default:
		return false
	}
	return true
}

func (m *maker) duration(path *field.Path, text v1alpha1.Duration) time.Duration {
	length, err := text.Parse()
	if err != nil {
		m.problems = append(m.problems, field.Invalid(path, string(text), err.Error()))
	}
	return length
}

// workload is what a target does in a phase: the phase's own for that target, the phase's, or the
// run's.
func (m *maker) workload(path *field.Path, phase *v1alpha1.Phase, target string) *v1alpha1.Engine {
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
		m.problems = append(m.problems, field.Required(path.Child("workload"),
			"neither the phase nor spec.run has a workload: give one of them"))
		return nil
	case chosen.Fio == nil:
		m.problems = append(m.problems, notBuilt(chosenPath, "the engine "+string(chosen.EngineKind()), "use fio"))
		return nil
	}
	if problems := fio.Validate(chosenPath.Child("fio"), chosen.Fio); len(problems) > 0 {
		m.addOnce(problems)
		return nil
	}
	return &chosen.Engine
}

// addOnce keeps a problem of a shared workload from being told for each phase that uses it.
func (m *maker) addOnce(problems field.ErrorList) {
	for _, problem := range problems {
		if !slices.ContainsFunc(m.problems, func(known *field.Error) bool { return known.Error() == problem.Error() }) {
			m.problems = append(m.problems, problem)
		}
	}
}

// layout follows what lies in the files of a target, so that no phase reads what nobody wrote.
func (m *maker) layout(path *field.Path, target string, step *Step, engine *v1alpha1.Engine) bool {
	traits, err := fio.Describe(engine.Fio)
	if err != nil {
		m.addOnce(field.ErrorList{field.Invalid(path, step.Phase, err.Error())})
		return false
	}
	laidOut := m.laidOut[target]
	if laidOut == nil {
		laidOut = map[string]uint64{}
		m.laidOut[target] = laidOut
	}
	if step.Purpose == Prepare && traits.NoStorage {
		m.problems = append(m.problems, field.Invalid(path, step.Phase, fio.ErrNothingToPrepare.Error()+": remove the phase"))
		return false
	}
	for _, caution := range traits.Cautions {
		if caution = "phase " + step.Phase + ": " + caution; !slices.Contains(m.plan.Warnings, caution) {
			m.plan.Warnings = append(m.plan.Warnings, caution)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(traits.FileSizes)) {
		size := traits.FileSizes[name]
		if step.Purpose == Measure && traits.Reads && laidOut[name] < size && !m.broken[target] {
			m.problems = append(m.problems, field.Invalid(path, step.Phase, fmt.Sprintf(
				"it reads %d bytes of each client's file %s on target %s, of which earlier phases lay out %d: "+
					"reads of bytes that nobody wrote measure nothing. Put a phase with `prepare: {}` and the same "+
					"workload before it", size, name, target, laidOut[name])))
			return false
		}
		if size > laidOut[name] {
			step.NewBytes[target] += size - laidOut[name]
		}
		if step.Purpose == Prepare {
			laidOut[name] = max(laidOut[name], size)
		}
	}
	return true
}
