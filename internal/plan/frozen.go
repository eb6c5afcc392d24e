package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Format is the format of the steps that Freeze writes. Raise it when an older operator would run these steps
// differently, and keep Thaw able to read all earlier formats.
//
//	1: the steps are incomplete; the planner recomputed the rest from the specification
//	2: the steps and the specification together hold everything that a run needs
const Format int32 = 2

// Freeze returns the steps of a plan as a run stores them.
func (p Plan) Freeze() []v1alpha1.ResolvedStep {
	var frozen []v1alpha1.ResolvedStep
	for _, step := range p.Steps {
		frozen = append(frozen, step.freeze())
	}
	return frozen
}

func (s Step) freeze() v1alpha1.ResolvedStep {
	frozen := v1alpha1.ResolvedStep{
		ID:                  s.ID,
		Phase:               s.Phase,
		Kind:                s.Kind,
		Purpose:             s.Purpose,
		Targets:             s.Targets,
		Clients:             int32(s.Clients), //nolint:gosec // The API limits it.
		WarmUp:              v1alpha1.DurationOf(s.WarmUp),
		MaxDuration:         v1alpha1.DurationOf(s.Limit),
		Repeat:              unlessZero(s.Repeat),
		Confirms:            unlessZero(s.Confirms),
		Overrides:           freezeOverrides(s.Overrides),
		Processes:           unlessZero(int32(s.Processes)), //nolint:gosec // The API limits it.
		LayoutJobs:          unlessZero(s.Overrides.LayoutJobs),
		Passes:              unlessZero(int32(s.Passes)), //nolint:gosec // The API limits it.
		EndWhenSteady:       unlessZero(s.EndWhenSteady),
		UntilCreditsPercent: unlessZero(int32(s.UntilCreditsPercent)), //nolint:gosec // At most 100.
		Redrain:             unlessZero(s.Redrain),
	}
	if s.Duration > 0 {
		frozen.Duration = new(v1alpha1.DurationOf(s.Duration))
	}
	if s.Adaptive() {
		frozen.MinDuration = new(v1alpha1.DurationOf(s.MinDuration))
	}
	if s.Cell >= 0 {
		frozen.Cell = new(int32(s.Cell)) //nolint:gosec // The API limits it.
	}
	for _, target := range s.Targets {
		if bytes := s.NewBytes[target]; bytes > 0 {
			frozen.NewBytes = append(frozen.NewBytes, v1alpha1.TargetBytes{Target: target, Bytes: int64(min(bytes, math.MaxInt64))})
		}
	}
	return frozen
}

// freezeOverrides converts overrides to the form that a run stores. It returns nil if nothing is overridden.
func freezeOverrides(o Overrides) *v1alpha1.StepOverrides {
	frozen := v1alpha1.StepOverrides{
		ReadPercent: o.ReadPercent, Jobs: unlessZero(o.Jobs), QueueDepth: unlessZero(o.QueueDepth), Processes: unlessZero(o.Processes),
		Operation: o.Operation,
	}
	if o.BlockSizeBytes != 0 {
		frozen.BlockSize = resource.NewQuantity(o.BlockSizeBytes, resource.BinarySI)
	}
	if frozen == (v1alpha1.StepOverrides{}) {
		return nil
	}
	return &frozen
}

// Thaw returns the plan that a run stores. It does not plan again, so an operator of another version continues the run
// with the same steps. Because a run does not store predictions, these fields of the result are empty: Documented,
// Promises and Warnings of the plan, and Credits and Expected of each step.
//
// Thaw fails on a newer Format, and on steps that do not match the run's specification.
func Thaw(run *v1alpha1.BenchmarkRunSpec) (Plan, error) {
	if format := valueOf(run.Format); format > Format {
		return Plan{}, fmt.Errorf("spec.format is %d, but this operator reads formats up to %d: use the version that created the run, or a newer one", format, Format)
	}
	steps, hash := run.Steps, run.DatasetHash
	if valueOf(run.Format) < 2 {
		steps, hash = completed(run)
	}
	thawed := Plan{ClientsPerTarget: max(1, int(run.Run.Clients.Count)), DatasetHash: hash}
	numbers := map[string]int{}
	for i := range steps {
		step, err := thaw(&run.Run, &steps[i])
		if err != nil {
			return Plan{}, fmt.Errorf("spec.steps[%d] (%s): %w", i, steps[i].ID, err)
		}
		step.Number = numbers[step.Phase]
		numbers[step.Phase]++
		thawed.Steps = append(thawed.Steps, step)
	}
	return thawed, nil
}

// Show returns the plan of a run for display: the stored steps of any format, with this version's predictions.
func Show(run *v1alpha1.BenchmarkRunSpec) Plan {
	shown := Plan{ClientsPerTarget: max(1, int(run.Run.Clients.Count)), DatasetHash: run.DatasetHash}
	predicted, _ := Make(&run.Run, run.Seed)
	for i := range run.Steps {
		frozen := &run.Steps[i]
		step, err := thaw(&run.Run, frozen)
		if err != nil {
			step = Step{ID: frozen.ID, Phase: frozen.Phase, Kind: frozen.Kind, Purpose: frozen.Purpose, Targets: frozen.Targets, Clients: int(frozen.Clients), Cell: -1}
		}
		if same := slices.IndexFunc(predicted.Steps, func(s Step) bool { return s.ID == step.ID }); same >= 0 {
			step.Expected, step.Longer, step.Credits = predicted.Steps[same].Expected, predicted.Steps[same].Longer, predicted.Steps[same].Credits
		} else if step.Purpose == Measure || step.Purpose == Idle {
			step.Expected = step.WarmUp + step.Duration
		}
		shown.Steps = append(shown.Steps, step)
	}
	return shown
}

func thaw(run *v1alpha1.RunSpec, frozen *v1alpha1.ResolvedStep) (Step, error) {
	at := slices.IndexFunc(run.Phases, func(p v1alpha1.Phase) bool { return p.Name == frozen.Phase })
	if at < 0 {
		return Step{}, fmt.Errorf("spec.run.phases has no phase %q", frozen.Phase)
	}
	phase := &run.Phases[at]
	step := Step{
		ID: frozen.ID, Phase: frozen.Phase, PhaseIndex: at, Kind: frozen.Kind, Purpose: frozen.Purpose, Targets: frozen.Targets, Clients: int(frozen.Clients),
		Workloads: map[string]*v1alpha1.Engine{}, NewBytes: map[string]uint64{}, Cell: -1, Repeat: valueOf(frozen.Repeat), Confirms: valueOf(frozen.Confirms), Overrides: thawOverrides(frozen),
		Processes: int(valueOf(frozen.Processes)), Passes: int(valueOf(frozen.Passes)), EndWhenSteady: valueOf(frozen.EndWhenSteady),
		UntilCreditsPercent: int(valueOf(frozen.UntilCreditsPercent)), Redrain: valueOf(frozen.Redrain),
	}
	for _, length := range []struct {
		name string
		from *v1alpha1.Duration
		into *time.Duration
	}{
		{"warmUp", &frozen.WarmUp, &step.WarmUp}, {"duration", frozen.Duration, &step.Duration},
		{"minDuration", frozen.MinDuration, &step.MinDuration}, {"maxDuration", &frozen.MaxDuration, &step.Limit},
		{"activeDeadline", &run.ActiveDeadline, &step.RunLimit},
	} {
		if length.from == nil || *length.from == "" {
			continue
		}
		var err error
		if *length.into, err = length.from.Parse(); err != nil {
			return Step{}, fmt.Errorf("%s: %w", length.name, err)
		}
	}
	step.RunLimit = cmp.Or(step.RunLimit, defaultDeadline)
	if frozen.Cell != nil {
		step.Cell = int(*frozen.Cell)
	}
	for _, bytes := range frozen.NewBytes {
		step.NewBytes[bytes.Target] = uint64(max(bytes.Bytes, 0))
	}
	for _, name := range frozen.Targets {
		if err := step.thawTarget(run, phase, name); err != nil {
			return Step{}, err
		}
	}
	return step, nil
}

// thawTarget restores the workload, the striping and the volumes of one target from the specification, because the
// stored step does not contain them.
func (s *Step) thawTarget(run *v1alpha1.RunSpec, phase *v1alpha1.Phase, name string) error {
	at := slices.IndexFunc(run.Targets, func(t v1alpha1.Target) bool { return t.Name == name })
	if at < 0 {
		return fmt.Errorf("spec.run.targets has no target %q", name)
	}
	if s.Purpose == Idle {
		return nil
	}
	chosen := run.WorkloadOf(phase, name)
	if chosen == nil || chosen.EngineKind() == "" {
		return fmt.Errorf("target %s has no workload in phase %s", name, phase.Name)
	}
	s.Workloads[name] = &chosen.Engine
	target := &run.Targets[at]
	if lustre := target.Lustre; lustre != nil && s.Clients > 0 {
		s.stripe(name, stripingOf(lustre))
	}
	if s.Load(name).ManyVolumes {
		s.place(target)
	}
	return nil
}

func thawOverrides(frozen *v1alpha1.ResolvedStep) Overrides {
	o := Overrides{LayoutJobs: valueOf(frozen.LayoutJobs)}
	if given := frozen.Overrides; given != nil {
		o.ReadPercent, o.Jobs, o.QueueDepth, o.Processes = given.ReadPercent, valueOf(given.Jobs), valueOf(given.QueueDepth), valueOf(given.Processes)
		o.Operation = given.Operation
		if given.BlockSize != nil {
			o.BlockSizeBytes = given.BlockSize.Value()
		}
	}
	return o
}

// completed returns the steps and the dataset hash of a run of format 1. It derives what format 1 did not store from
// the specification, by the rules of that format.
func completed(run *v1alpha1.BenchmarkRunSpec) (steps []v1alpha1.ResolvedStep, datasetHash string) {
	m := maker{run: &run.Run, demands: NewDemandModel(&run.Run)}
	m.findLayoutJobs()
	// NewBytes and the dataset hash depend on the layouts of all steps, so plan the whole run again.
	made, _ := Make(&run.Run, run.Seed)
	for i := range run.Steps {
		step := *run.Steps[i].DeepCopy()
		at := slices.IndexFunc(run.Run.Phases, func(p v1alpha1.Phase) bool { return p.Name == step.Phase })
		if at >= 0 {
			m.complete(&run.Run.Phases[at], &step)
		}
		if same := slices.IndexFunc(made.Steps, func(s Step) bool { return s.ID == step.ID }); same >= 0 {
			step.NewBytes = made.Steps[same].freeze().NewBytes
		}
		steps = append(steps, step)
	}
	return steps, made.DatasetHash
}

func (m *maker) complete(phase *v1alpha1.Phase, step *v1alpha1.ResolvedStep) {
	for _, target := range step.Targets {
		chosen := m.run.WorkloadOf(phase, target)
		switch {
		case step.Purpose == Idle || chosen == nil:
		case chosen.SpansClients():
			step.Processes = new(int32(m.demands.processes(thawOverrides(step)))) //nolint:gosec // The API limits it.
		default:
			if one, _, own := m.jobDatasetOf(target, &chosen.Engine); own {
				step.LayoutJobs = unlessZero(m.layoutJobs[one])
			}
		}
	}
	switch {
	case step.Purpose == Precondition && phase.Prepare != nil:
		step.Passes = phase.Prepare.Precondition
	case step.Purpose == Measure && phase.Steady != nil:
		step.EndWhenSteady = phase.Steady.EndWhenSteady
	case step.Purpose == Drain && phase.Cooldown != nil:
		step.Redrain = new(true)
	case step.Purpose == Idle && phase.Cooldown != nil && phase.Cooldown.UntilCredits != nil:
		step.UntilCreditsPercent = &phase.Cooldown.UntilCredits.Percent
	}
}

// unlessZero returns a pointer to value, or nil for the zero value.
func unlessZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// valueOf returns the value of the pointer, or the zero value for nil.
func valueOf[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
