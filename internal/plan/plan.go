package plan

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// Plan is what a run will do.
type Plan struct {
	Steps []Step
	// ClientsPerTarget is the number of clients of each target.
	ClientsPerTarget int
	// DatasetHash names the layout of the data. Runs with equal hashes can share it.
	DatasetHash string
	// Documented is what is documented of targets, as far as it is known before the run, and Promises what of it their
	// loads can expect.
	Documented []v1alpha1.StorageDescription
	Promises   []Promise
	// Warnings are for whoever reads the plan; they stop nothing.
	Warnings []string
}

// Step is the step of that ID, which has to be one of the plan's.
func (p Plan) Step(id string) Step {
	return p.Steps[slices.IndexFunc(p.Steps, func(step Step) bool { return step.ID == id })]
}

// Purpose is what a step is for.
type Purpose = v1alpha1.StepPurpose

// The purposes.
const (
	// Prepare lays data out: a fixed amount of work.
	Prepare = v1alpha1.StepPrepare
	// Precondition overwrites all of it, some times: a fixed amount of work.
	Precondition = v1alpha1.StepPrecondition
	// Measure loads for a time; see Step.EndWhenSteady.
	Measure = v1alpha1.StepMeasure
	// Drain loads until the burst credits are gone and the baseline is measured, for Duration at most.
	Drain = v1alpha1.StepDrain
	// Idle loads nothing for a time.
	Idle = v1alpha1.StepIdle
)

// Step is one thing that the clients do together.
type Step struct {
	// ID is unique in the run and sorts in running order.
	ID string
	// Phase and PhaseIndex say which phase of the specification it is of.
	Phase      string
	PhaseIndex int
	// Number of the step in its phase, from 0.
	Number  int
	Kind    v1alpha1.PhaseKind
	Purpose Purpose
	// Targets that are loaded together in it.
	Targets []string
	// Clients of each target that take part, those with the lowest indexes; 0 where nothing is loaded.
	Clients int
	// Workloads by target; none where nothing is loaded.
	Workloads map[string]*v1alpha1.Engine
	// Processes are the ranks of each client in a job of MPI; 0 where there is none.
	Processes int
	// Overrides take the place of values of the workloads, in a ramp or a sweep.
	Overrides Overrides
	// Cell is the index of the ramp's step or the sweep's cell that is measured, -1 elsewhere. Value is
	// the ramp's. Repeat marks a cell that was measured before.
	Cell   int
	Value  int64
	Repeat bool
	// Passes over the data of a Precondition.
	Passes int
	// Duration that is measured, or idled, and WarmUp before it. Of a Drain it is the longest; it is 0 for
	// a fixed amount of work, such as mdtest's, and for an Idle step whose length follows from what was measured before.
	Duration, WarmUp time.Duration
	// MinDuration, after the WarmUp, before which a step that ends by what it measures is not ended.
	MinDuration time.Duration
	// EndWhenSteady lets a Measure step end as soon as five rounds were steady.
	EndWhenSteady bool
	// UntilCreditsPercent is the fill of the bucket that an Idle step waits for; 0 where it waits for a
	// Duration.
	UntilCreditsPercent int
	// Redrain marks the Drain after an Idle step that measures the refill.
	Redrain bool
	// Limit is the time after which the load is ended whatever happened.
	Limit time.Duration
	// NewBytes is the free space that each client of a target takes in it at most, beyond what the
	// steps before it may have taken; by target.
	NewBytes map[string]uint64
	// Striping of the files on Lustre, by target; none where that is the file system's own.
	Striping map[string]Striping
	// Volumes are the names of the volumes over which the files of each client are spread, by target; none where there
	// is one. RawWrites are the targets whose raw devices may be written to.
	Volumes   map[string][]string
	RawWrites map[string]bool
	// Credits is what is expected of the bucket of bytes of each target whose limits are known: as if it was
	// full at the start of the run, and every load was as much as the target takes.
	Credits map[string]Credits
	// Expected is how long the step takes by what is known before the run, from its start to that of the next one; 0
	// where that is not known. Longer says that it is the least, and nobody knows how much more it is.
	Expected time.Duration
	Longer   bool
}

// Overrides take the place of values of a workload; 0 and nil leave the workload's own.
type Overrides struct {
	Jobs, QueueDepth int32
	BlockSizeBytes   int64
	ReadPercent      *int32
	// Processes are the ranks of each client, in a ramp that raises them; see Step.Processes.
	Processes int32
	// LayoutJobs is the largest number of jobs that any step of the run works on these files with, where that
	// number is raised and each job has files of its own.
	LayoutJobs int32
}

// Credits is the expected fill of a bucket at the start and at the end of a step, in percent.
type Credits struct {
	StartPercent, EndPercent float64
}

// WorkBound says that the step ends when its work is done and not at a time.
func (s Step) WorkBound() bool {
	return s.Purpose == Prepare || s.Purpose == Precondition || s.Purpose == Measure && s.Duration == 0
}

// Adaptive says that the step may end before its time, by what it has measured.
func (s Step) Adaptive() bool { return s.Purpose == Drain || s.EndWhenSteady }

// FioParameters are what the step adds to the fio profile of one client.
func (s Step) FioParameters(seed int64, client int) fio.Parameters {
	parameters := fio.Parameters{
		Purpose:        fio.Measure,
		Duration:       s.Duration,
		WarmUp:         s.WarmUp,
		Jobs:           s.Overrides.Jobs,
		QueueDepth:     s.Overrides.QueueDepth,
		BlockSizeBytes: s.Overrides.BlockSizeBytes,
		ReadPercent:    s.Overrides.ReadPercent,
		LayoutJobs:     s.Overrides.LayoutJobs,
		Seed:           s.loadSeed(seed),
		ClientIndex:    client,
	}
	switch s.Purpose {
	case Prepare:
		parameters.Purpose, parameters.Duration, parameters.WarmUp = fio.Prepare, 0, 0
	case Precondition:
		parameters.Purpose, parameters.Duration, parameters.WarmUp = fio.Precondition, 0, 0
		parameters.Passes = int32(s.Passes) //nolint:gosec // The API allows few.
	case Measure, Drain, Idle:
	}
	return parameters
}

// loadSeed is that of the random offsets. No two steps share one: a load that goes where another has just
// been finds the store's caches warm.
func (s Step) loadSeed(seed int64) uint64 {
	return uint64(seed) + uint64(s.PhaseIndex)<<32 + uint64(s.Number)<<40 //nolint:gosec // Any bits are a seed.
}
