package plan

import (
	"slices"
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

// Step is the step of that ID, which has to be one of the plan's.
func (p Plan) Step(id string) Step {
	return p.Steps[slices.IndexFunc(p.Steps, func(step Step) bool { return step.ID == id })]
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
	// ID is unique in the run and sorts in running order, such as 01-write; 01-00-write-a and
	// 01-01-write-b where targets take turns.
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
	// NewBytes is the free space that each client of a target takes in it at most, beyond what the
	// steps before it may have taken; by target.
	NewBytes map[string]uint64
}

// WorkBound says that the step ends when its work is done and not at a time.
func (s Step) WorkBound() bool { return s.Duration == 0 }
