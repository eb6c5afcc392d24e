package ior

import (
	"strings"
	"time"
)

// FileName is the file of IOR's data, relative to the working directory. With a file per process IOR appends the rank.
const FileName = "ior.data"

// MdtestDirectory is the directory in which mdtest works, relative to the working directory.
const MdtestDirectory = "mdtest"

// Purpose is what a step is for.
type Purpose int

const (
	// Measure runs the profile's operations.
	Measure Purpose = iota + 1
	// Prepare writes all files once, completely, and keeps them.
	Prepare
)

// Parameters are what a step adds to a profile.
type Parameters struct {
	Purpose Purpose
	// Version of the tool, such as "4.0.0", from its output or its help. "" means 4.0.0 or later.
	Version string
	// Duration makes a step of Measure time-bound: repetitions go on for that long. 0 means that the step is bound by
	// its work, as the profile says.
	Duration time.Duration
	// Limit of a step that is bound by its work: no repetition begins after it, and if the profile does not set their
	// number, repetitions go on until then. 0 means none.
	Limit time.Duration
	// Seed of the run determines the signature of the data, so that a later step can verify it.
	Seed uint64
}

// VersionArguments returns the arguments of a run of IOR, without mpirun, that does no I/O and prints the version in
// its first line, for Stream to read: Output.Version. IOR has no option for it. The exit status means nothing (4.0.0
// fails afterwards).
func VersionArguments() []string {
	return []string{"--dryRun", "-w", "-t", "8", "-b", "8", "-o", FileName}
}

// before4 reports whether the version is 3.3.0 or older, which has no rows of CSV and no minTimeDuration.
func (p *Parameters) before4() bool {
	major, _, dotted := strings.Cut(strings.TrimPrefix(p.Version, "IOR-"), ".")
	return dotted && len(major) == 1 && major >= "0" && major < "4"
}

// signature returns a positive number that stays the same for a run.
func (p *Parameters) signature() int64 {
	return int64(p.Seed%1_000_000_007) + 1
}
