package cli

import (
	"encoding/json"
	"fmt"

	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/report"
)

// parseIORDocument is the output of IOR in storagebench's own format.
type parseIORDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Tool          string `json:"tool"`
	// Version is empty for CSV output, which does not contain it.
	Version string `json:"version"`
	Format  string `json:"format"`
	// Complete is false if the run ended before its last repetition; Reason then says why.
	Complete    bool                 `json:"complete"`
	Reason      string               `json:"reason,omitempty"`
	CommandLine string               `json:"commandLine,omitempty"`
	Tasks       int                  `json:"tasks,omitempty"`
	Warnings    []string             `json:"warnings"`
	Repetitions []parseIORRepetition `json:"repetitions"`
	Summary     []parseIORSummary    `json:"summary"`
}

type parseIORRepetition struct {
	Operation string `json:"operation"`
	Index     int    `json:"index"`
	// BytesPerSecond is the rate over the total time, from the first rank's start to the last rank's end.
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// IOPSMilli is the operation rate in thousandths of an operation per second. It covers only the time of the
	// transfers, without opening and closing files.
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`
	Bytes     int64  `json:"bytes"`
	// BytesExact is true if IOR printed Bytes, or if Bytes follows exactly from IOR's parameters or figures. Otherwise
	// Bytes is the product of bandwidth and time, which is only as precise as the digits that IOR printed.
	BytesExact          bool   `json:"bytesExact"`
	Tasks               int    `json:"tasks,omitempty"`
	BlockBytes          int64  `json:"blockBytes,omitempty"`
	TransferBytes       int64  `json:"transferBytes,omitempty"`
	OpenNanoseconds     *int64 `json:"openNanoseconds,omitempty"`
	TransferNanoseconds *int64 `json:"transferNanoseconds,omitempty"`
	CloseNanoseconds    *int64 `json:"closeNanoseconds,omitempty"`
	TotalNanoseconds    int64  `json:"totalNanoseconds"`
}

type parseIORSummary struct {
	parseSummary
	StdDevBytesPerSecond int64 `json:"stdDevBytesPerSecond"`
	MeanNanoseconds      int64 `json:"meanNanoseconds"`
	// IOR's stonewall (option -D) is a time limit for a read or write phase. The stonewall figures are the time until
	// the stonewall and the bandwidth of all ranks until then.
	StonewallNanoseconds    int64 `json:"stonewallNanoseconds,omitempty"`
	StonewallBytesPerSecond int64 `json:"stonewallBytesPerSecond,omitempty"`
}

func parseIOR(streams Streams, name string) (any, error) {
	file, err := openInput(streams, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	output, err := ior.ReadOutput(file)
	if err != nil {
		return nil, err
	}
	result := ior.Final(output, ior.Exit{}, "", ior.Expectation{})
	if result.Outcome == ior.Failed {
		return nil, fmt.Errorf("not a result: %s: %s", result.Failure, result.Message)
	}
	document := parseIORDocument{
		SchemaVersion: report.SchemaVersion, Tool: "ior", Version: output.Version, Format: string(output.Format),
		Complete: result.Outcome == ior.Complete, Reason: result.Message, CommandLine: output.CommandLine, Tasks: output.Tasks,
		Warnings: iorWarnings(result.Warnings), Repetitions: []parseIORRepetition{}, Summary: []parseIORSummary{},
	}
	for _, one := range output.Repetitions {
		document.Repetitions = append(document.Repetitions, parseIORRepetition{
			Operation: one.Operation.String(), Index: one.Index, BytesPerSecond: one.BytesPerSecond,
			IOPSMilli: known(one.OperationsPerSecondMilli), Bytes: one.Bytes, BytesExact: one.BytesExact, Tasks: one.Tasks,
			BlockBytes: one.BlockBytes, TransferBytes: one.TransferBytes, OpenNanoseconds: known(one.OpenNanoseconds),
			TransferNanoseconds: known(one.TransferNanoseconds), CloseNanoseconds: known(one.CloseNanoseconds), TotalNanoseconds: one.TotalNanoseconds,
		})
	}
	for _, one := range result.Summary {
		row := parseIORSummary{
			parseSummary: parseSummary{
				Operation: one.Operation.String(), MeanBytesPerSecond: one.MeanBytesPerSecond, MinBytesPerSecond: one.MinBytesPerSecond,
				MaxBytesPerSecond: one.MaxBytesPerSecond, Repetitions: one.Repetitions,
			},
			StdDevBytesPerSecond: one.StdDevBytesPerSecond, MeanNanoseconds: one.MeanNanoseconds,
		}
		for _, own := range output.Summaries {
			if own.Operation == one.Operation && output.Tests == 1 {
				row.StonewallNanoseconds, row.StonewallBytesPerSecond = own.StonewallNanoseconds, own.StonewallBytesPerSecond
			}
		}
		document.Summary = append(document.Summary, row)
	}
	return document, nil
}

// known returns a pointer to a figure, or nil for -1, which stands for a figure that the tool did not print.
func known(figure int64) *int64 {
	if figure < 0 {
		return nil
	}
	return &figure
}

func iorWarnings(warnings []ior.Warning) []string {
	texts := []string{}
	for _, warning := range warnings {
		texts = append(texts, fmt.Sprintf("%s: %s", warning.Kind, warning.Message))
	}
	return texts
}

// parseMdtestDocument is the output of mdtest in storagebench's own format. It has no repetitions, because mdtest
// prints only a summary for all ranks together.
type parseMdtestDocument struct {
	SchemaVersion int                  `json:"schemaVersion"`
	Tool          string               `json:"tool"`
	Version       string               `json:"version"`
	Complete      bool                 `json:"complete"`
	CommandLine   string               `json:"commandLine,omitempty"`
	Tasks         int                  `json:"tasks,omitempty"`
	Nodes         int                  `json:"nodes,omitempty"`
	Iterations    int                  `json:"iterations"`
	Warnings      []string             `json:"warnings"`
	Repetitions   []struct{}           `json:"repetitions"`
	Summary       []parseMdtestSummary `json:"summary"`
}

type parseMdtestSummary struct {
	Operation       string      `json:"operation"`
	MeanPerSecond   json.Number `json:"meanPerSecond"`
	MinPerSecond    json.Number `json:"minPerSecond"`
	MaxPerSecond    json.Number `json:"maxPerSecond"`
	StdDevPerSecond json.Number `json:"stdDevPerSecond"`
}

func parseMdtest(streams Streams, name string) (any, error) {
	file, err := openInput(streams, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	output, err := ior.ReadMdtestOutput(file)
	if err != nil {
		return nil, err
	}
	result := ior.FinalMdtest(output, ior.Exit{}, "", ior.MdtestExpectation{})
	if result.Outcome != ior.Complete {
		return nil, fmt.Errorf("not a result: %s: %s", result.Failure, result.Message)
	}
	document := parseMdtestDocument{
		SchemaVersion: report.SchemaVersion, Tool: "mdtest", Version: output.Version, Complete: true, CommandLine: output.CommandLine,
		Tasks: output.Tasks, Nodes: output.Nodes, Iterations: output.Iterations, Warnings: iorWarnings(result.Warnings),
		Repetitions: []struct{}{}, Summary: []parseMdtestSummary{},
	}
	for _, rate := range output.Rates {
		document.Summary = append(document.Summary, parseMdtestSummary{
			Operation: rate.Operation, MeanPerSecond: thousandths(rate.MeanMilli), MinPerSecond: thousandths(rate.MinMilli),
			MaxPerSecond: thousandths(rate.MaxMilli), StdDevPerSecond: thousandths(rate.StdDevMilli),
		})
	}
	return document, nil
}

// thousandths formats a number of thousandths as an exact decimal number.
func thousandths(milli int64) json.Number {
	return json.Number(fmt.Sprintf("%d.%03d", milli/1000, milli%1000))
}
