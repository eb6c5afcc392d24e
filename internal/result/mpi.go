package result

import (
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// Job is what ior or mdtest say of themselves, once for all clients of a target.
type Job struct {
	// CommandLine that ran: program and arguments.
	CommandLine []string
	// Ranks, and clients that they ran in.
	Ranks, Clients int
	// MPIVersion is that of Open MPI.
	MPIVersion string
	// Repetitions of ior, in the order in which they ended.
	Repetitions []Repetition
	// Rates of mdtest.
	Rates []JobRate
}

// Repetition is one write or read of all files by ior.
type Repetition struct {
	Operation measure.Operation
	// Index counts from 0.
	Index int
	Bytes uint64
	// BytesExact: they are no product of rounded figures.
	BytesExact                          bool
	BytesPerSecond, OperationsPerSecond float64
	// Open, Transfer and Close overlap between ranks. They and OperationsPerSecond are above 0 where they were told.
	Open, Transfer, Close time.Duration
	// Total is from the first start to the last end.
	Total time.Duration
	// Ended is when its line was read, in the conductor's time.
	Ended time.Time
}

// JobRate is one kind of operation of mdtest, in operations a second.
type JobRate struct {
	Operation                         string
	Max, Min, Mean, StandardDeviation float64
}
