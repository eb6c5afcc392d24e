package plan

import (
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Plan is what a run will do.
type Plan struct {
	Steps []Step
	// ClientsPerTarget is the number of clients of each target.
	ClientsPerTarget int
	// DatasetHash names the layout of the data. Runs with equal hashes can share it.
	DatasetHash string
	// Warnings are for whoever reads the plan; they stop nothing.
	Warnings []string
}

// Purpose is what a step's tool is for.
type Purpose string

const (
	// Prepare lays data out: a fixed amount of work.
	Prepare Purpose = "Prepare"
	// Measure loads for a fixed time.
	Measure Purpose = "Measure"
)

// Step is one thing that the clients do together.
type Step struct {
	// ID is unique in the run and sorts in running order, such as 01-write.
	ID string
	// Phase and PhaseIndex say which phase of the specification it is of.
	Phase      string
	PhaseIndex int
	Kind       v1alpha1.PhaseKind
	Purpose    Purpose
	// Targets that are loaded together in it.
	Targets []string
	// Workloads by target.
	Workloads map[string]*v1alpha1.Engine
	// Duration that is measured, and WarmUp before it; Duration is 0 for a fixed amount of work.
	Duration, WarmUp time.Duration
	// Limit is the time after which the load is ended whatever happened.
	Limit time.Duration
	// WriteBytes and NewBytes are what each client of a target will write at least and how much
	// free space it takes for that; both by target.
	NewBytes map[string]uint64
}

// WorkBound says that the step ends when its work is done and not at a time.
func (s Step) WorkBound() bool { return s.Duration == 0 }

// Target is a name of the specification with its volume.
func targetNames(run *v1alpha1.RunSpec) []string {
	var names []string
	for _, target := range run.Targets {
		names = append(names, target.Name)
	}
	return names
}

// measuredSlack is how long a measured step may take beyond its own time: the tool has to start,
// and what is in flight at the end has to come back. Load itself ends by the tool's own clock.
const measuredSlack = time.Minute
