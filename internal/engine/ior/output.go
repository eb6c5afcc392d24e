package ior

import (
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// Format is the form in which IOR prints.
type Format string

// The formats. The zero value is none: nothing was recognized.
const (
	FormatTable Format = "Table"
	FormatJSON  Format = "JSON"
	FormatCSV   Format = "CSV"
	// FormatEmptyCSV is what IOR 3.3.0 and older print for CSV: a header without line breaks, no rows.
	FormatEmptyCSV Format = "EmptyCSV"
)

// Repetition is one write or read of the whole work, over all ranks. Times count from the first
// rank's start to the last rank's end.
type Repetition struct {
	Operation measure.Operation
	// Test is 0, and more in an output of several tests; Index counts from 0.
	Test, Index int
	// BytesPerSecond is IOR's own bandwidth: all bytes over TotalNanoseconds.
	BytesPerSecond int64
	// OperationsPerSecondMilli is transfers over the time of write or read alone; -1: not printed.
	OperationsPerSecondMilli int64
	// BlockBytes and TransferBytes are 0 when they are not printed.
	BlockBytes, TransferBytes int64
	// OpenNanoseconds, TransferNanoseconds and CloseNanoseconds overlap between ranks. -1: not printed.
	OpenNanoseconds, TransferNanoseconds, CloseNanoseconds int64
	TotalNanoseconds                                       int64
	// Tasks are the ranks; 0 when they are not known.
	Tasks int
	// Bytes that were moved. BytesExact: IOR printed them, or what they come to, or only one number of
	// whole blocks fits its figures; or the caller knew (Stream.Segments). Else they are bandwidth times time, as
	// coarse as that is printed.
	Bytes      int64
	BytesExact bool
}

// Summary is one row of IOR's own summary, of one test and operation.
type Summary struct {
	Operation                                                                      measure.Operation
	Test                                                                           int
	MaxBytesPerSecond, MinBytesPerSecond, MeanBytesPerSecond, StdDevBytesPerSecond int64
	MeanNanoseconds                                                                int64
	Tasks, Repetitions                                                             int
	// StonewallNanoseconds and StonewallBytesPerSecond, of all ranks, are until the stonewall, when
	// the ranks then wore out the rest; 0 without. IOR prints the bandwidth of one rank from
	// 4.0.0 on, that of all before; here it is that of all.
	StonewallNanoseconds, StonewallBytesPerSecond int64

	// tolerance of the three bandwidths, by the digits that were printed.
	tolerance float64
}

// Stonewalled is what the ranks had done when the time of the stonewall was over.
type Stonewalled struct {
	MinTransfers, MaxTransfers int64
	Nanoseconds                int64
}

// Damage is a part of the output that can not be read, or contradicts the rest.
type Damage struct {
	// Line counts from 1.
	Line   int
	Reason string
}

// Output is all that a Stream found.
type Output struct {
	Format Format
	// Version such as "4.0.0"; "" for CSV, which does not tell.
	Version string
	// CommandLine as IOR printed it; "" for CSV.
	CommandLine string
	API         string
	// Tests is the number of tests, one but for scripts. Tasks, Nodes and DeclaredRepetitions are
	// those of the last test; 0 when they were not printed.
	Tests, Tasks, Nodes, DeclaredRepetitions int

	Repetitions  []Repetition
	Summaries    []Summary
	Stonewalled  []Stonewalled
	StonewallHit int
	// Warnings are IOR's own, each once, without those that a stonewall always brings.
	Warnings []string
	// MoreWarnings were counted and not kept.
	MoreWarnings int
	// Errors are lines of IOR or MPI that tell a failure, the first of them.
	Errors []string
	// DataErrors is the number of wrong words that a check of the data found.
	DataErrors int64
	// Usage: IOR printed its help in place of a result.
	Usage bool
	// DryRun: the tool was told to do no I/O, and its figures mean nothing.
	DryRun bool
	// Finished: the line that IOR prints last was seen. CSV has none.
	Finished bool
	// Partial: the output ends inside of a line or of an object.
	Partial bool
	Damaged []Damage
	// MoreDamaged were counted and not kept.
	MoreDamaged int
	// Noise is what nobody here understands: head and tail of it where it is long.
	Noise string
	Bytes int64
}

// Hear adds what was told elsewhere, beside the figures: errors, warnings, what a check of the data found.
func (o *Output) Hear(words Output) {
	for _, line := range words.Errors {
		o.Errors = keep(o.Errors, line)
	}
	for _, text := range words.Warnings {
		o.warn(text)
	}
	o.MoreWarnings += words.MoreWarnings
	o.StonewallHit += words.StonewallHit
	o.DataErrors = min(o.DataErrors+words.DataErrors, maxNumber)
}

// warn keeps a warning of IOR's, once.
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
