package ior

import (
	"strings"
	"time"
)

// FileName is the name of IOR's data file, relative to the working directory. If each process has its own file, IOR
// appends the rank to the name.
const FileName = "ior.data"

// MdtestDirectory is the directory in which mdtest works, relative to the working directory.
const MdtestDirectory = "mdtest"

// Purpose is the kind of step that IOR or mdtest runs.
type Purpose int

const (
	// Measure runs the profile's operations.
	Measure Purpose = iota + 1
	// Prepare writes all files once, completely, and keeps them.
	Prepare
)

// Parameters are the settings that a step adds to a profile.
type Parameters struct {
	Purpose Purpose
	// Version is the version of the tool, such as "4.0.0", as printed in its output or help. An empty string means
	// 4.0.0 or later.
	Version string
	// Duration is the time for which a time-bound Measure step runs repetitions. It is 0 for a work-bound step, which ends
	// when the work that the profile specifies is complete.
	Duration time.Duration
	// Limit is the time after which a work-bound step does not start another repetition, or 0 if there is no limit. If
	// the profile does not set the number of repetitions, the step runs repetitions until Limit.
	Limit time.Duration
	// Seed is the seed of the run. The signature of the data derives from it, so a later step can verify the data.
	Seed uint64
}

// VersionArguments returns the arguments of a dry run, which does no I/O. Start it without mpirun. IOR has no option to
// print its version, but a dry run prints it in the first line, which Stream parses into Output.Version. Ignore the
// exit status: IOR 4.0.0 fails after it has printed the version.
func VersionArguments() []string {
	return []string{"--dryRun", "-w", "-t", "8", "-b", "8", "-o", FileName}
}

// before4 reports whether the version is 3.3.0 or older, which does not print CSV rows or support minTimeDuration.
func (p *Parameters) before4() bool {
	major, _, dotted := strings.Cut(strings.TrimPrefix(p.Version, "IOR-"), ".")
	return dotted && len(major) == 1 && major >= "0" && major < "4"
}

// signature returns a positive number that is the same in all steps of a run.
func (p *Parameters) signature() int64 {
	return int64(p.Seed%1_000_000_007) + 1
}
