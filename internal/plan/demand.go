package plan

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/limits"
)

// Demand is what a step asks of a target at a time, over all its clients; what is not known is zero.
type Demand struct {
	// Load by which limits differ. BlockBytes is 0 where operations are of several sizes.
	Load limits.Load
	// Outstanding operations.
	Outstanding float64
	// DatasetBytes that is worked on, and whether in random order.
	DatasetBytes float64
	Random       bool
	// Limit that the load was told not to exceed.
	Limit limits.Rate
	// Metadata tells that it works on names and not on data, for which nothing is documented here.
	Metadata bool
}

// DemandModel gives the demand of each step of a frozen run. It is not safe for concurrent use.
type DemandModel struct {
	run *v1alpha1.RunSpec
	// traits of profiles as they are written: to list the files of one can take long.
	traits map[*v1alpha1.FioProfile]*fio.Traits
}

// NewDemandModel makes a model. The run has to be resolved.
func NewDemandModel(run *v1alpha1.RunSpec) *DemandModel {
	return &DemandModel{run: run, traits: map[*v1alpha1.FioProfile]*fio.Traits{}}
}

// Of is what a step asks of a target; false where it loads nothing, or nobody can tell.
func (a *DemandModel) Of(step *v1alpha1.ResolvedStep, target string) (Demand, bool) {
	at := slices.IndexFunc(a.run.Phases, func(p v1alpha1.Phase) bool { return p.Name == step.Phase })
	if at < 0 || step.Purpose == Idle || !slices.Contains(step.Targets, target) {
		return Demand{}, false
	}
	chosen, _ := (&maker{run: a.run}).chosen(nil, &a.run.Phases[at], target)
	if chosen == nil {
		return Demand{}, false
	}
	demand, ok := a.demand(&chosen.Engine, step.Purpose, thawOverrides(step), max(1, int(step.Clients)))
	demand.expect(&a.run.Phases[at])
	return demand, ok
}

// expect notes that a phase is meant to read from the server's cache.
func (a *Demand) expect(phase *v1alpha1.Phase) {
	if phase.Expect == v1alpha1.ExpectServerCache && a.Load.Operation == limits.Read {
		a.Load.CachedShare = 1
	}
}

// Demand is what a step asks of a target; false where it loads nothing, or nobody can tell.
func (s *Step) Demand(target string) (Demand, bool) {
	engine := s.Workloads[target]
	if engine == nil || s.Purpose == Idle {
		return Demand{}, false
	}
	return NewDemandModel(&v1alpha1.RunSpec{}).demand(engine, s.Purpose, s.demandOverrides(), max(1, s.Clients))
}

// demandOverrides are the step's overrides with its ranks.
func (s *Step) demandOverrides() Overrides {
	o := s.Overrides
	o.Processes = int32(s.Processes) //nolint:gosec // The API allows few.
	return o
}

// demand is what an engine asks of a target with that many clients.
func (a *DemandModel) demand(engine *v1alpha1.Engine, purpose Purpose, o Overrides, clients int) (Demand, bool) {
	switch {
	case engine.Fio != nil:
		return a.fio(engine.Fio, purpose, o, float64(clients))
	case engine.IOR != nil:
		processes := max(1, int(a.run.Clients.ProcessesPerClient))
		if o.Processes > 0 {
			processes = int(o.Processes)
		}
		traits, err := ior.Describe(engine.IOR, clients, processes)
		if err != nil {
			return Demand{}, false
		}
		return Demand{Load: limits.Load{BlockBytes: float64(traits.TransferBytes), Operation: operation(traits.Reads, traits.Writes)},
			Outstanding: float64(traits.MaxOutstanding) * float64(clients), DatasetBytes: float64(traits.DatasetBytes),
			Random: engine.IOR.Random != nil && *engine.IOR.Random}, true
	case engine.Mdtest != nil:
		return Demand{Metadata: true}, true
	}
	return Demand{}, false
}

func (a *DemandModel) fio(profile *v1alpha1.FioProfile, purpose Purpose, o Overrides, clients float64) (Demand, bool) {
	traits := a.traits[profile]
	if traits == nil {
		described, err := fio.Describe(profile)
		if err != nil {
			return Demand{}, false
		}
		traits = &described
		a.traits[profile] = traits
	}
	if traits.NoStorage {
		return Demand{}, false
	}
	reading, writing := traits.Reads, traits.Writes
	depth := float64(traits.MaxOutstanding) / float64(max(1, traits.Jobs))
	jobs, block := float64(traits.Jobs), float64(traits.BlockBytes)
	if profile.JobFile == "" {
		if o.ReadPercent != nil {
			reading, writing = *o.ReadPercent > 0, *o.ReadPercent < 100
		}
		if o.QueueDepth > 0 {
			depth = float64(o.QueueDepth)
		}
		if o.Jobs > 0 {
			jobs = float64(o.Jobs)
		}
		if o.BlockSizeBytes > 0 {
			block = float64(o.BlockSizeBytes)
		}
	}
	made := Demand{Load: limits.Load{BlockBytes: block, Operation: operation(reading, writing)}, Outstanding: jobs * depth * clients,
		DatasetBytes: float64(traits.DatasetBytes) * clients, Random: profile.Pattern == v1alpha1.FioRandom}
	if limit := profile.RateLimit; limit != nil && purpose != Prepare && purpose != Precondition {
		if limit.BytesPerSecond != nil {
			made.Limit.BytesPerSecond = limit.BytesPerSecond.AsApproximateFloat64() * clients
		}
		if limit.IOPS != nil {
			made.Limit.OperationsPerSecond = float64(*limit.IOPS) * clients
		}
	}
	if purpose == Prepare || purpose == Precondition {
		// They write everything, in the tool's own way.
		made.Load = limits.Load{Operation: limits.Write}
		made.Outstanding = 0
	}
	return made, true
}

// operation that a load does, both where it does both or nobody can tell.
func operation(reads, writes bool) limits.Operation {
	switch {
	case reads && !writes:
		return limits.Read
	case writes && !reads:
		return limits.Write
	}
	return limits.Both
}

// Loads are what the phases of a run ask of a target, each kind once: those of drains first, because what they drain is
// what the run is about.
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

// asks of a phase that measures, one a kind of load; none of others.
func (a *DemandModel) ofPhase(phase *v1alpha1.Phase, target string) []Demand {
	redrain := phase.Cooldown != nil && phase.Cooldown.Redrain != nil
	if phase.BurstDrain == nil && phase.Steady == nil && phase.Ramp == nil && phase.Sweep == nil && !redrain {
		return nil
	}
	chosen, _ := (&maker{run: a.run}).chosen(nil, phase, target)
	if chosen == nil || chosen.ProfileRef != nil {
		return nil
	}
	var all []Demand
	for _, o := range overridesIn(phase) {
		if demand, ok := a.demand(&chosen.Engine, Measure, o, 1); ok && !demand.Metadata {
			demand.expect(phase)
			all = append(all, demand)
		}
	}
	return all
}

// overridesIn are the block sizes and shares of reads of a phase.
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
