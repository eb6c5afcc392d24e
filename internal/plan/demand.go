package plan

import (
	"cmp"
	"errors"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Demand is the load that a step puts on a target, over all its clients. Unknown values are zero.
type Demand struct {
	// Load is the part of the demand that limits depend on. Its BlockBytes is 0 if operations have several sizes.
	Load limits.Load
	// Outstanding is the number of operations outstanding at a time.
	Outstanding float64
	// DatasetBytes is the size of the data that the load accesses; Random is true if it does so in random order.
	DatasetBytes float64
	Random       bool
	// Limit is the workload's rate limit.
	Limit limits.Rate
	// Metadata is true if the load consists of metadata operations, such as creating and deleting files. Such loads
	// have no documented limits.
	Metadata bool
}

// DemandModel computes the demand of each step of a resolved run. It is not safe for concurrent use.
type DemandModel struct {
	run *v1alpha1.RunSpec
	// described caches the descriptions of loads, because reading a workload, such as a fio job file, can take a long
	// time.
	described map[useOf]engine.Description
}

// useOf is the key of a cached description: a workload and the properties of the step that uses it.
type useOf struct {
	spec *v1alpha1.Engine
	step engine.Step
}

// NewDemandModel returns a model of the run's demands. The run must be resolved (see Resolve).
func NewDemandModel(run *v1alpha1.RunSpec) *DemandModel {
	return &DemandModel{run: run, described: map[useOf]engine.Description{}}
}

// describe returns what a load does in a step.
func (a *DemandModel) describe(spec *v1alpha1.Engine, step engine.Step) (engine.Description, error) {
	key := useOf{spec, step}
	if made, known := a.described[key]; known {
		return made, nil
	}
	load := engines.Of(spec)
	if load.Kind == "" {
		return engine.Description{}, errors.New("the workload has no engine")
	}
	made, err := load.Describe(&step)
	if err == nil {
		a.described[key] = made
	}
	return made, err
}

// Of returns the demand of a step on a target. It returns false if the step does not load the target or its demand
// is unknown.
func (a *DemandModel) Of(step *v1alpha1.ResolvedStep, target string) (Demand, bool) {
	phase := a.run.Phase(step.Phase)
	chosen := a.run.WorkloadOf(phase, target)
	if chosen == nil || step.Purpose == Idle || !slices.Contains(step.Targets, target) {
		return Demand{}, false
	}
	overrides := thawOverrides(step)
	// Plan format 1 does not store LayoutJobs, so use Jobs instead.
	overrides.LayoutJobs = cmp.Or(overrides.LayoutJobs, overrides.Jobs)
	demand, ok := a.demand(&chosen.Engine, engine.Step{
		Purpose: step.Purpose, Clients: max(1, int(step.Clients)), Processes: a.processes(overrides), Overrides: overrides,
	})
	demand.expect(phase)
	return demand, ok
}

// expect sets the share of cached reads to 1 if the phase expects to read from the server's cache.
func (a *Demand) expect(phase *v1alpha1.Phase) {
	if phase.Expect == v1alpha1.ExpectServerCache && a.Load.Operation == limits.Read {
		a.Load.CachedShare = 1
	}
}

// Demand returns the demand of the step on a target. It returns false if the step does not load the target or its
// demand is unknown.
func (s *Step) Demand(target string) (Demand, bool) {
	if s.Purpose == Idle {
		return Demand{}, false
	}
	return NewDemandModel(nil).demand(s.Workloads[target], s.For(target))
}

// processes returns the number of ranks of each client, which a ramp may override.
func (a *DemandModel) processes(o Overrides) int {
	return int(cmp.Or(o.Processes, max(1, a.run.Clients.ProcessesPerClient)))
}

// demand returns the demand of a workload on a target. It returns false if the workload loads nothing or its demand
// is unknown.
func (a *DemandModel) demand(spec *v1alpha1.Engine, step engine.Step) (Demand, bool) {
	made, err := a.describe(spec, step)
	switch {
	case err != nil || made.NoStorage || engines.Of(spec).Opaque:
		return Demand{}, false
	case made.Metadata:
		return Demand{Metadata: true}, true
	}
	clients := float64(step.Clients)
	return Demand{
		Load:         limits.Load{BlockBytes: float64(made.BlockBytes), Operation: operation(made.Reads, made.Writes)},
		Outstanding:  float64(made.MaxOutstanding) * clients,
		DatasetBytes: float64(made.ClientBytes-made.UnusedBytes) * clients,
		Random:       made.Random,
		Limit:        limits.Rate{BytesPerSecond: made.LimitBytesPerSecond * clients, OperationsPerSecond: made.LimitIOPS * clients},
	}, true
}

// operation returns the operation of a load: Both if it reads and writes, or if that is unknown.
func operation(reads, writes bool) limits.Operation {
	switch {
	case reads && !writes:
		return limits.Read
	case writes && !reads:
		return limits.Write
	}
	return limits.Both
}

// Loads returns the distinct loads that the phases of a run put on a target. The loads of phases that drain come first,
// because the run measures the credit buckets that these loads empty.
func (a *DemandModel) Loads(target string) []limits.Load {
	var drains, others []limits.Load
	for i := range a.run.Phases {
		phase := &a.run.Phases[i]
		into := &others
		if phase.BurstDrain != nil || phase.Cooldown != nil {
			into = &drains
		}
		for _, demand := range a.ofPhase(phase, target) {
			if !slices.Contains(*into, demand.Load) {
				*into = append(*into, demand.Load)
			}
		}
	}
	for _, load := range others {
		if !slices.Contains(drains, load) {
			drains = append(drains, load)
		}
	}
	return drains
}

// ofPhase returns the demands that a phase puts on a target, one for each kind of load. It returns none for a phase to
// which documented limits do not apply.
func (a *DemandModel) ofPhase(phase *v1alpha1.Phase, target string) []Demand {
	redrain := phase.Cooldown != nil && phase.Cooldown.Redrain != nil
	if !phasekind.Of(phase.Kind()).Limited && !redrain {
		return nil
	}
	chosen := a.run.WorkloadOf(phase, target)
	if chosen == nil || chosen.ProfileRef != nil {
		return nil
	}
	var all []Demand
	for _, o := range overridesIn(phase) {
		step := engine.Step{Purpose: Measure, Clients: 1, Processes: a.processes(o), Overrides: o}
		if demand, ok := a.demand(&chosen.Engine, step); ok && !demand.Metadata {
			demand.expect(phase)
			all = append(all, demand)
		}
	}
	return all
}

// overridesIn returns the combinations of block size and read percentage of a phase.
func overridesIn(phase *v1alpha1.Phase) []Overrides {
	if phase.Sweep == nil {
		return []Overrides{{}}
	}
	axes := phase.Sweep.Axes
	var all []Overrides
	for _, one := range cellsOf(&v1alpha1.SweepAxes{BlockSize: axes.BlockSize, ReadPercent: axes.ReadPercent}) {
		all = append(all, one.overrides)
	}
	return all
}
