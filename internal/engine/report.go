package engine

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// MaxByteDifference is the largest relative difference between two counts of the same bytes that is accepted without a
// warning.
const MaxByteDifference = 0.05

// Report holds what the clients of a target reported about a step, except samples and totals.
type Report struct {
	Clients []ClientReport
	// SharesMachine is true if any of the clients ran on the same machine as clients of another target at the same time.
	SharesMachine bool
	// Measured is true if the step ran the profile's load and at least one client has a result.
	Measured bool
	// Version is the version of the tool; empty if unknown.
	Version string
	// Job is the report of the MPI job; nil if there is none.
	Job *Job
	// Sampled returns the number of bytes that all operations of the given kind had moved by the given time, according
	// to the samples of all clients. Sampled is nil if samples are missing.
	Sampled func(until time.Time, operation measure.Operation) uint64
}

// ClientReport is one client's part of a Report.
type ClientReport struct {
	Index int
	// Machine identifies the client's machine; empty if unknown.
	Machine string
	// Usable is true if the client has a result.
	Usable  bool
	Program *Program
	Like    *DataSample
	// Output is the tool's output without the parts that the agent has parsed. Of long output, only the first and the
	// last 8 KiB are kept. An engine that runs its tool as a command parses the tool's own figures from it.
	Output string
}

// Job is the report of an ior or mdtest job, which all clients of a target run together.
type Job struct {
	// CommandLine is the program and its arguments.
	CommandLine []string
	// Ranks is the number of ranks, and Clients is the number of clients on which they ran.
	Ranks, Clients int
	// MPIVersion is the version of Open MPI.
	MPIVersion string
	// Repetitions are the repetitions of ior, in the order in which they ended.
	Repetitions []Repetition
	// Rates are the rates in mdtest's summary.
	Rates []JobRate
}

// Repetition is one write or read of all files by ior.
type Repetition struct {
	Operation measure.Operation
	// Index is the index of the repetition, counted from 0.
	Index int
	Bytes uint64
	// BytesExact is false if Bytes is only an estimate, computed from rounded figures.
	BytesExact                          bool
	BytesPerSecond, OperationsPerSecond float64
	// Open, Transfer and Close are the times of these three stages. They can overlap, because one rank may still open its
	// file while another already transfers data. These times, and OperationsPerSecond, are positive only if IOR printed
	// them.
	Open, Transfer, Close time.Duration
	// Total is the time from the first rank's start to the last rank's end.
	Total time.Duration
	// Ended is the time, on the conductor's clock, at which IOR's output line about the repetition was read.
	Ended time.Time
}

// JobRate is mdtest's rate for one kind of operation, in operations per second.
type JobRate struct {
	Operation                         string
	Max, Min, Mean, StandardDeviation float64
}

// Program describes how a user's program ran on one client.
type Program struct {
	// CommandLine is the program and its arguments.
	CommandLine []string
	// ExitCode is the exit code, or 128 plus the number of the signal that killed the program.
	ExitCode int
	// Duration is the time from the program's start to its exit. Flush is the additional time, after the exit, until all
	// remaining data of the program had been written to the storage.
	Duration, Flush time.Duration
	// CutShort is true if the program was stopped before it finished.
	CutShort bool
	// Counts holds the I/O of the program as counted by each source, the most trusted source first.
	Counts []Count
}

// Count holds a program's I/O, as counted by one source.
type Count struct {
	Source                v1alpha1.CommandSource
	ReadBytes, WriteBytes uint64
	// HasOperations is true if the source also counts operations.
	HasOperations                   bool
	ReadOperations, WriteOperations uint64
}

// Bytes returns the number of bytes in a direction, "read" or "written".
func (c Count) Bytes(direction string) uint64 {
	if direction == "written" {
		return c.WriteBytes
	}
	return c.ReadBytes
}

// DataSample describes the part of the user's data that a client examined.
type DataSample struct {
	Files, Bytes uint64
	// RatioMilli is the lz4 compression ratio of the data, times 1000. Percent is the buffer_compress_percentage with
	// which fio writes data that compresses about as well.
	RatioMilli int64
	Percent    int
}

// Findings are an engine's conclusions from a report.
type Findings struct {
	// Counted maps the index of a client to the counts that replace its totals. A count without operations replaces only
	// the bytes.
	Counted map[int]Count
	// Warnings lists problems with the tool's own figures.
	Warnings []Warning
	// Pattern describes the data that the tool wrote.
	Pattern Pattern
}

// Warn adds a warning about the target.
func (f *Findings) Warn(kind v1alpha1.WarningType, format string, arguments ...any) {
	f.Warnings = append(f.Warnings, Warning{Type: kind, Text: fmt.Sprintf(format, arguments...)})
}

// Warning is a warning about a target, or about the clients that the text names.
type Warning struct {
	Type    v1alpha1.WarningType
	Clients []int
	Text    string
}

// Pattern describes the data that a tool writes, which depends on the tool and its version. A store that compresses
// data is faster if the data is compressible.
type Pattern struct {
	Version, Name string
	// RatioMilli is the lz4 compression ratio of the data, times 1000; 0 if unknown.
	RatioMilli int64
	// Asked is true if the profile requests data that is as compressible as the user's own data. Compression by the
	// store is then part of the result and causes no warning.
	Asked bool
	// Repeats explains why the data may be compressible if RatioMilli is unknown.
	Repeats string
	// Remedy names the setting for incompressible data.
	Remedy string
}
