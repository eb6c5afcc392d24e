package ior

import (
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// FileName is the file of IOR's data, relative to the working directory. With a file per process IOR
// appends the rank.
const FileName = "ior.data"

// MdtestDirectory is where mdtest works, relative to the working directory.
const MdtestDirectory = "mdtest"

// Purpose is what a step is for.
type Purpose int

// The purposes.
const (
	// Measure runs the profile's operations.
	Measure Purpose = iota + 1
	// Prepare writes all files once, whole, and keeps them.
	Prepare
)

// Parameters are what a step adds to a profile.
type Parameters struct {
	Purpose Purpose
	// Version of the tool, such as "4.0.0", as its own output or its help tells. "": 4.0.0 or newer.
	Version string
	// Duration makes a step of Measure time-bound: repetitions go on for that long. 0: the step is
	// bound by its work, as the profile says.
	Duration time.Duration
	// Limit of a step that is bound by its work: no repetition begins after it, and without a
	// number in the profile they go on until then. 0: none.
	Limit time.Duration
	// Operations and TransferSizeBytes take the place of the profile's own, for a step of a ramp
	// or a cell of a sweep; nil and 0 leave them. A transfer must still divide the block.
	Operations        []v1alpha1.Operation
	TransferSizeBytes int64
	// Seed of the run makes the signature of the data, so that a later step can verify it, and
	// random orders.
	Seed uint64
}

// VersionArguments are those of a run of IOR, without mpirun, that does no I/O and tells the version in
// its first line, for Stream to read: Output.Version. IOR has no option for it. Its exit status means
// nothing (4.0.0 fails afterwards).
func VersionArguments() []string {
	return []string{"--dryRun", "-w", "-t", "8", "-b", "8", "-o", FileName}
}

// before4 tells a version up to 3.3.0, which knows less: no rows of CSV, no minimal time.
func (p *Parameters) before4() bool {
	major, _, dotted := strings.Cut(strings.TrimPrefix(p.Version, "IOR-"), ".")
	return dotted && len(major) == 1 && major >= "0" && major < "4"
}

// signature is a positive number that stays the same for a run.
func (p *Parameters) signature() int64 {
	return int64(p.Seed%1_000_000_007) + 1
}
