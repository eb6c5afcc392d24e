package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/report"
)

// mergeDocument is the merged result of many fio clients.
type mergeDocument struct {
	SchemaVersion int `json:"schemaVersion"`
	// LatencyType is lat (from submission to completion) or clat (without the time to submit), whichever has a
	// histogram in all files. The two are never mixed. Operations that move no data always use lat.
	LatencyType string          `json:"latencyType"`
	Files       int             `json:"files"`
	Read        mergedOperation `json:"read"`
	Write       mergedOperation `json:"write"`
	Trim        mergedOperation `json:"trim"`
	Sync        mergedOperation `json:"sync"`
	Create      mergedOperation `json:"create,omitzero"`
	Stat        mergedOperation `json:"stat,omitzero"`
	Delete      mergedOperation `json:"delete,omitzero"`
	Warnings    []string        `json:"warnings"`
}

type mergedOperation struct {
	Bytes      uint64         `json:"bytes"`
	Operations uint64         `json:"operations"`
	Latency    *mergedLatency `json:"latency"`
}

// mergedLatency is the latency of one operation. A percentile with fewer than ten samples above it is null.
type mergedLatency struct {
	Samples          uint64  `json:"samples"`
	MeanNanoseconds  uint64  `json:"meanNanoseconds"`
	MinNanoseconds   uint64  `json:"minNanoseconds"`
	P50Nanoseconds   *uint64 `json:"p50Nanoseconds"`
	P95Nanoseconds   *uint64 `json:"p95Nanoseconds"`
	P99Nanoseconds   *uint64 `json:"p99Nanoseconds"`
	P999Nanoseconds  *uint64 `json:"p999Nanoseconds"`
	P9999Nanoseconds *uint64 `json:"p9999Nanoseconds"`
	MaxNanoseconds   uint64  `json:"maxNanoseconds"`

	// inLastBucket is the number of operations that took 17.05 s or longer.
	inLastBucket uint64
}

func newMerge(streams Streams) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "merge FIO.json ...",
		Short: "Merge the results of many fio clients into one, exactly",
		Long: "Add up the histograms of fio's json+ results and compute the percentiles once, from the sum.\n" +
			"Percentiles of single clients cannot be averaged. A percentile with fewer than ten samples\n" +
			"above it is null. The files do not contain fio's exit code: check it separately.",
		Example: "  kubectl storagebench merge client-*.json -o json",
		Args:    numberOfArguments(1, anyNumber),
		RunE: func(_ *cobra.Command, names []string) error {
			var results []fioResult
			for _, name := range names {
				result, err := readFio(streams, name)
				if err != nil {
					return inFile(name, err)
				}
				results = append(results, result)
			}
			document, err := mergeFio(results)
			if err != nil {
				return err
			}
			return printAs(streams.Out, output, document, nil)
		},
	}
	formFlag(command, &output, "json", "yaml")
	return command
}

// fioResult is a fio result and the name of the file that contains it.
type fioResult struct {
	name string
	fio.Result
	// jobs holds an entry for each group of jobs if fio reports groups (group_reporting), otherwise for each job.
	jobs []fio.Job
	// interrupted is true if fio reported that a signal stopped it early, or if the output ends with a status dump. The
	// Result then covers the time until the signal or the dump.
	interrupted bool
}

// readFio reads fio's output. If the output is not a result, the error contains the reason that fio printed.
func readFio(streams Streams, name string) (fioResult, error) {
	file, err := openInput(streams, name)
	if err != nil {
		return fioResult{}, err
	}
	defer func() { _ = file.Close() }()
	output, err := fio.ReadOutput(file)
	if err != nil {
		return fioResult{}, err
	}
	judged := fio.Final(output, fio.Exit{}, "", fio.Expectation{})
	if judged.Outcome == fio.Failed || judged.Snapshot == nil {
		return fioResult{}, fmt.Errorf("not a result: %s: %s", judged.Failure, judged.Message)
	}
	if output.Documents > 1 {
		// The other documents may be status dumps, which look like results.
		judged.Warnings = append(judged.Warnings, fio.Warning{Kind: "SeveralDocuments", Message: fmt.Sprintf(
			"only the last of %d JSON documents is used: unless the others are status dumps of the same run, "+
				"put each into a file of its own", output.Documents)})
	}
	interrupted := true
	switch left := output.Last.SecondsLeft; {
	case strings.Contains(output.Noise, "fio: terminating on signal "):
		judged.Warnings = append(judged.Warnings, fio.Warning{Kind: fio.WarnToolMessages,
			Message: "a signal stopped fio before it completed"})
	case left > 0:
		judged.Warnings = append(judged.Warnings, fio.Warning{Kind: "StatusDump", Message: fmt.Sprintf(
			"the output ends with a status dump, %d s before the expected end of fio: fio was killed or is still running",
			left)})
	default:
		interrupted = false
	}
	return fioResult{name: name, Result: judged, jobs: output.Last.Jobs, interrupted: interrupted}, nil
}

func mergeFio(results []fioResult) (mergeDocument, error) {
	document := mergeDocument{SchemaVersion: report.SchemaVersion, Files: len(results), Warnings: []string{}}
	total, completion := true, true
	for _, result := range results {
		total = total && result.Snapshot.HasBins()
		completion = completion && hasCompletionBins(result.Snapshot)
		for _, warning := range result.Warnings {
			if warning.Kind != fio.WarnNoBins {
				document.Warnings = append(document.Warnings, fmt.Sprintf("%s: %s: %s", result.name, warning.Kind, warning.Message))
			}
		}
	}
	switch {
	case total:
		document.LatencyType = "lat"
	case completion:
		document.LatencyType = "clat"
	default:
		return mergeDocument{}, errors.New("the files have no histogram of the same latency type: run fio with --output-format=json+ and lat_percentiles=1")
	}
	for _, operation := range measure.Operations {
		merged := mergeOperation(results, operation, total)
		document.Warnings = append(document.Warnings, merged.clipped(operation)...)
		*document.operation(operation) = merged
	}
	return document, nil
}

// clipped returns a warning if a percentile may be only a lower bound.
func (m *mergedOperation) clipped(operation measure.Operation) []string {
	if m.Latency == nil || m.Latency.inLastBucket == 0 {
		return nil
	}
	return []string{fmt.Sprintf("LatencyClipped: %v: %s took 17 s or longer; only the maximum shows how long", operation,
		measure.FormatCount(int(min(m.Latency.inLastBucket, 1<<31)), "operation"))}
}

func (d *mergeDocument) operation(operation measure.Operation) *mergedOperation {
	switch operation {
	case measure.Read:
		return &d.Read
	case measure.Write:
		return &d.Write
	case measure.Trim:
		return &d.Trim
	case measure.Create:
		return &d.Create
	case measure.Stat:
		return &d.Stat
	case measure.Delete:
		return &d.Delete
	case measure.Sync:
	}
	return &d.Sync
}

func hasCompletionBins(snapshot *fio.Snapshot) bool {
	for i := range snapshot.Operations {
		latency := &snapshot.Operations[i].Completion
		if latency.Count > 0 && latency.Histogram.Count() == 0 {
			return false
		}
	}
	return true
}

func mergeOperation(results []fioResult, operation measure.Operation, total bool) mergedOperation {
	var merged mergedOperation
	var sum measure.Latency
	for _, result := range results {
		one := &result.Snapshot.Operations[operation]
		merged.Bytes += one.Bytes
		merged.Operations += one.Completed()
		latency := &one.Total
		if !total && operation.MovesData() {
			latency = &one.Completion
		}
		sum.Merge(latency)
	}
	if sum.Count == 0 {
		return merged
	}
	summary := sum.Summary()
	merged.Latency = &mergedLatency{
		Samples: summary.Count, MeanNanoseconds: summary.MeanNanoseconds, MinNanoseconds: summary.MinNanoseconds,
		P50Nanoseconds: summary.P50Nanoseconds, P95Nanoseconds: summary.P95Nanoseconds, P99Nanoseconds: summary.P99Nanoseconds,
		P999Nanoseconds: summary.P999Nanoseconds, P9999Nanoseconds: summary.P9999Nanoseconds, MaxNanoseconds: summary.MaxNanoseconds,
		inLastBucket: summary.CountInLastBucket,
	}
	return merged
}
