package ior

import (
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// Format is the format of IOR's output.
type Format string

// Formats of IOR's output. The zero value means that no format was recognized.
const (
	FormatTable Format = "Table"
	FormatJSON  Format = "JSON"
	FormatCSV   Format = "CSV"
	// FormatEmptyCSV is the CSV of IOR 3.3.0 and older: a header without line breaks, and no rows.
	FormatEmptyCSV Format = "EmptyCSV"
)

// Repetition is one write or one read of all files by all ranks. Times are measured from the first rank's start to the
// last rank's end.
type Repetition struct {
	Operation measure.Operation
	// Test is the index of the repetition's test; it is always 0 unless the output has several tests. Index is the index
	// of the repetition. Both count from 0.
	Test, Index int
	// BytesPerSecond is the bandwidth that IOR printed: all bytes divided by the total time.
	BytesPerSecond int64
	// OperationsPerSecondMilli is the number of transfers per second, times 1000. It excludes the time for opening and
	// closing files. It is -1 if IOR did not print it.
	OperationsPerSecondMilli int64
	// BlockBytes and TransferBytes are 0 if IOR did not print them.
	BlockBytes, TransferBytes int64
	// OpenNanoseconds, TransferNanoseconds and CloseNanoseconds can overlap, because one rank may still open its file
	// while another already transfers data. They are -1 if IOR did not print them.
	OpenNanoseconds, TransferNanoseconds, CloseNanoseconds int64
	TotalNanoseconds                                       int64
	// Tasks is the number of ranks; 0 if unknown.
	Tasks int
	// Bytes is the number of bytes moved. BytesExact is true if IOR printed the number, if the printed parameters or
	// Stream.Segments determine it, or if only one number of whole blocks fits the figures. Otherwise Bytes is the
	// product of bandwidth and time, which is only as precise as the printed figures.
	Bytes      int64
	BytesExact bool
}

// Summary is one row of IOR's own summary, or the result of Spread, for one test and operation.
type Summary struct {
	Operation                                                                      measure.Operation
	Test                                                                           int
	MaxBytesPerSecond, MinBytesPerSecond, MeanBytesPerSecond, StdDevBytesPerSecond int64
	MeanNanoseconds                                                                int64
	Tasks, Repetitions                                                             int
	// StonewallNanoseconds and StonewallBytesPerSecond are the time and the bandwidth until the stonewall, if the ranks
	// continued until their work was complete (stoneWallingWearOut). Otherwise both are 0. StonewallBytesPerSecond is
	// always the bandwidth of all ranks, although IOR 4.0.0 and later print the bandwidth of one rank.
	StonewallNanoseconds, StonewallBytesPerSecond int64

	// tolerance is the maximum rounding error of the printed maximum, minimum and mean bandwidth, in bytes per second.
	tolerance float64
}

// Stonewalled holds the ranks' progress when the stonewall expired.
type Stonewalled struct {
	MinTransfers, MaxTransfers int64
	Nanoseconds                int64
}

// Damage describes a part of the output that cannot be read or that contradicts another part.
type Damage struct {
	// Line is the number of the line, counted from 1.
	Line   int
	Reason string
}

// Output is everything that a Stream found in IOR's output.
type Output struct {
	Format Format
	// Version is the version of IOR, such as "4.0.0"; "" for CSV, which does not contain it.
	Version string
	// CommandLine is the command line as IOR printed it; "" for CSV.
	CommandLine string
	// limited is true if the command line sets a time limit (-T), even if this option is clipped in CommandLine.
	limited bool
	API     string
	// Tests is the number of tests. Only an IOR script has more than one test. Tasks, Nodes and DeclaredRepetitions
	// describe the last test. They are 0 if IOR did not print them.
	Tests, Tasks, Nodes, DeclaredRepetitions int

	Repetitions  []Repetition
	Summaries    []Summary
	Stonewalled  []Stonewalled
	StonewallHit int
	// Warnings holds IOR's warnings without duplicates, and without the warnings that every stonewall causes.
	Warnings []string
	// MoreWarnings is the number of further warnings that Warnings does not contain.
	MoreWarnings int
	// Errors holds the first lines of output in which IOR or MPI reports a failure.
	Errors []string
	// DataErrors is the number of incorrect words that IOR found when it verified the data.
	DataErrors int64
	// Usage is true if IOR printed its help instead of a result.
	Usage bool
	// DryRun is true if IOR ran without I/O (--dryRun), which makes its figures meaningless.
	DryRun bool
	// Finished is true if IOR's last line was seen. CSV output has no such line.
	Finished bool
	// Partial is true if the output ends inside a line or an object.
	Partial bool
	// Damaged holds the first damaged parts of the output.
	Damaged []Damage
	// Noise is text that was not recognized. Only the beginning and the end of a long text are stored.
	Noise string
	Bytes int64
}

// AddMessages adds the errors, warnings and data errors found in another output of the same run, for example in the
// output of mpirun and of the ranks other than the first.
func (o *Output) AddMessages(words Output) {
	for _, line := range words.Errors {
		o.Errors = appendOnce(o.Errors, line)
	}
	for _, text := range words.Warnings {
		o.warn(text)
	}
	o.MoreWarnings += words.MoreWarnings
	o.StonewallHit += words.StonewallHit
	o.DataErrors = min(o.DataErrors+words.DataErrors, maxNumber)
}

// warn adds a warning to the output unless it is a duplicate.
func (o *Output) warn(text string) {
	text = clip(text)
	switch {
	case slices.Contains(o.Warnings, text):
	case len(o.Warnings) >= maxKept:
		o.MoreWarnings++
	default:
		o.Warnings = append(o.Warnings, text)
	}
}
