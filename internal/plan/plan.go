package plan

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// Plan holds the steps of a run and the predictions for them.
type Plan struct {
	Steps []Step
	// ClientsPerTarget is the number of clients of each target.
	ClientsPerTarget int
	// DatasetHash identifies the layout of the data. Runs with equal hashes can share the data.
	DatasetHash string
	// Documented holds the documented limits of targets that are known before the run. Promises holds the rates that
	// these limits allow for the loads.
	Documented []v1alpha1.StorageDescription
	Promises   []Promise
	// Warnings are shown with the plan. They do not prevent a run.
	Warnings []string
}

// Step returns the step with the given ID, which must be in the plan.
func (p Plan) Step(id string) Step {
	return p.Steps[slices.IndexFunc(p.Steps, func(step Step) bool { return step.ID == id })]
}

// Purpose is the purpose of a step, such as Prepare or Measure.
type Purpose = v1alpha1.StepPurpose

const (
	// Prepare lays out data. It ends when all data is written.
	Prepare = v1alpha1.StepPrepare
	// Precondition overwrites all data Passes times. It ends when the last pass is complete.
	Precondition = v1alpha1.StepPrecondition
	// Measure loads the targets for a given time or, if Duration is 0, until the work is done. It may end earlier if
	// EndWhenSteady is set.
	Measure = v1alpha1.StepMeasure
	// Drain loads the targets until the burst credits are spent and the baseline is measured, but no longer than
	// Duration.
	Drain = v1alpha1.StepDrain
	// Idle applies no load, for a given time or until the credits have refilled.
	Idle = v1alpha1.StepIdle
)

// Step is one load, or idle time, that the clients start together.
type Step struct {
	// ID is unique in the run. Sorting the steps by ID gives their execution order.
	ID string
	// Phase and PhaseIndex are the name and the index of the step's phase in the specification.
	Phase      string
	PhaseIndex int
	// Number is the index of the step in its phase, from 0.
	Number  int
	Kind    v1alpha1.PhaseKind
	Purpose Purpose
	// Targets are the targets that the step loads together, or leaves idle together.
	Targets []string
	// Clients is the number of clients of each target that take part, counted from the lowest index. It is 0 if nothing
	// is loaded.
	Clients int
	// Workloads holds the engine of each target. It is empty if nothing is loaded.
	Workloads map[string]*v1alpha1.Engine
	// Processes is the number of ranks of each client in an MPI job, or 0 without one.
	Processes int
	// Overrides replace values of the workloads in a ramp or a sweep.
	Overrides Overrides
	// Cell is the index of the ramp value, sweep cell, search step or interference block that is measured, or -1.
	// Repeat is true for a cell that was measured before; Confirms is true for a step that confirms the rate of a
	// search.
	Cell     int
	Repeat   bool
	Confirms bool
	// Passes is the number of times that a Precondition overwrites the data.
	Passes int
	// WarmUp is the time before the measurement. Duration is the measured or idle time, or its maximum for a Drain.
	// Duration is 0 if the step does a fixed amount of work, as with mdtest, or if it is an Idle step whose length
	// depends on earlier measurements.
	Duration, WarmUp time.Duration
	// MinDuration is the minimum time after WarmUp before the step may end early.
	MinDuration time.Duration
	// EndWhenSteady lets a Measure step end as soon as five consecutive rounds have been steady.
	EndWhenSteady bool
	// UntilCreditsPercent is the fill level of the credit bucket, in percent, at which an Idle step ends. It is 0 if
	// the step lasts for Duration.
	UntilCreditsPercent int
	// Redrain is true for the Drain after an Idle step that measures the refill.
	Redrain bool
	// Limit is the time after which the load is stopped, even if it is not complete. RunLimit is the activeDeadline of the
	// whole run. It also limits the time that a client may take before its load starts, for example to execute a setup
	// again.
	Limit, RunLimit time.Duration
	// MaxIOPS is the highest rate that a step of a search may offer, in operations per second over all clients. It is
	// used for predictions, and is 0 in other steps.
	MaxIOPS int64
	// NewBytes is the maximum space, by target, that each client needs for the step in addition to the space that
	// earlier steps may have used.
	NewBytes map[string]uint64
	// Striping is the striping of the files on Lustre, by target. Targets without an entry use the file system's
	// default.
	Striping map[string]Striping
	// Volumes lists the volumes, by target, over which the files of each client are spread. Targets with a single
	// volume have no entry. RawWrites holds the targets whose raw devices may be written to.
	Volumes   map[string][]string
	RawWrites map[string]bool
	// Credits is the expected fill level of the credit bucket of each target with known limits. The bucket counts
	// bytes. The prediction assumes that the bucket was full at the start of the run, that every load was the maximum
	// that the target, the workload's rate limit and a search's highest rate allow, and that reads spend nothing if the
	// server's cache is meant to serve them.
	Credits map[string]Credits
	// Reused holds the targets whose files are expected to be laid out already, so that a Prepare step does not write them
	// again.
	Reused map[string]bool
	// Expected is the predicted time from the start of the step to the start of the next one, or 0 if it is unknown.
	// Longer is true if the step may take longer than Expected by an unknown time.
	Expected time.Duration
	Longer   bool
}

// Overrides replace values of a workload.
type Overrides = engine.Overrides

// Credits is the expected fill level of a credit bucket, in percent, at the start and at the end of a step.
type Credits struct {
	StartPercent, EndPercent float64
	// FullestPercent is the level of the fullest bucket at the start, if each client has its own.
	FullestPercent float64
}

// WorkBound reports whether the step ends when its work is done, instead of after a given time.
func (s Step) WorkBound() bool {
	return s.Purpose == Prepare || s.Purpose == Precondition || s.Purpose == Measure && s.Duration == 0
}

// Adaptive reports whether the step may end early, depending on what it has measured.
func (s Step) Adaptive() bool { return s.Purpose == Drain || s.EndWhenSteady }

// NonRepeatable reports whether the step cannot run again once it has started. A second drain would find the credits
// spent, and a second deletion would find no files.
func (s Step) NonRepeatable() bool {
	return s.Purpose == Drain || s.Overrides.Operation == v1alpha1.OperationDelete
}

// Load returns the workload of a target with its engine, or the zero value if the step does not load the target.
func (s Step) Load(target string) engine.Load { return engines.Of(s.Workloads[target]) }

// For returns the properties of the step that are passed to the engine of a target.
func (s Step) For(target string) engine.Step {
	return engine.Step{
		Purpose: s.Purpose, Clients: max(1, s.Clients), Processes: max(1, s.Processes), Duration: s.Duration, WarmUp: s.WarmUp,
		Passes: s.Passes, Overrides: s.Overrides, Volumes: len(s.Volumes[target]),
	}
}

// Client returns the properties of a client that are passed to an engine in an attempt of the step. The first attempt
// is 1. Every attempt of every step has a different StepSeed, because a load that repeats the offsets of an earlier
// load would find the store's caches warm.
func (s Step) Client(seed int64, attempt, index int) engine.Client {
	return engine.Client{
		Index: index, Seed: uint64(seed), //nolint:gosec // Any bit pattern is a valid seed.
		StepSeed: uint64(seed) + uint64(s.PhaseIndex)<<32 + uint64(s.Number)<<40 + uint64(attempt-1)<<52, //nolint:gosec // As above.
	}
}
