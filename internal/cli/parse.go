package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/report"
)

// parseDocument is a tool's output in the project's own words.
type parseDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Tool          string `json:"tool"`
	Version       string `json:"version"`
	// Complete is false when the tool was stopped before its time.
	Complete    bool              `json:"complete"`
	Warnings    []string          `json:"warnings"`
	Repetitions []parseRepetition `json:"repetitions"`
	Summary     []parseSummary    `json:"summary"`
}

type parseRepetition struct {
	Operation           string         `json:"operation"`
	BytesPerSecond      int64          `json:"bytesPerSecond"`
	IOPSMilli           int64          `json:"iopsMilli"`
	Bytes               uint64         `json:"bytes"`
	Operations          uint64         `json:"operations"`
	RuntimeMilliseconds int64          `json:"runtimeMilliseconds"`
	Latency             *mergedLatency `json:"latency"`
}

type parseSummary struct {
	Operation          string `json:"operation"`
	MeanBytesPerSecond int64  `json:"meanBytesPerSecond"`
	MinBytesPerSecond  int64  `json:"minBytesPerSecond"`
	MaxBytesPerSecond  int64  `json:"maxBytesPerSecond"`
	Repetitions        int    `json:"repetitions"`
}

func newParse(streams Streams) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "parse fio|ior|mdtest FILE",
		Short: "Read a tool's output, and refuse one that is no result",
		Long: "Read a tool's output and show it in the project's own words. One that is no result (an error, a\n" +
			"cut-off document, nothing at all) ends with exit code 1 and the tool's own reason. IOR's can be a table,\n" +
			"JSON or CSV; one that is cut off after some repetitions is a result with \"complete\": false. Only the\n" +
			"file is seen, not the tool's exit code: check that too.",
		Example: "  fio --output-format=json+ job.fio | kubectl storagebench parse fio -\n" +
			"  kubectl storagebench parse ior ior.out\n" +
			"  kubectl storagebench parse mdtest mdtest.out",
		Args:      cobra.ExactArgs(2),
		ValidArgs: []string{"fio", "ior", "mdtest"},
		RunE: func(_ *cobra.Command, arguments []string) error {
			if err := knownForm(output, "json", "yaml"); err != nil {
				return err
			}
			parse, known := parsers[arguments[0]]
			if !known {
				return fmt.Errorf("the output of %q cannot be parsed: only that of fio, ior and mdtest", arguments[0])
			}
			document, err := parse(streams, arguments[1])
			if err != nil {
				return fmt.Errorf("%s: %w", arguments[1], err)
			}
			return printAs(streams.Out, output, document, nil)
		},
	}
	formFlag(command, &output, "json", "yaml")
	return command
}

// parsers give the document of a tool's output.
var parsers = map[string]func(Streams, string) (any, error){
	"fio": func(streams Streams, name string) (any, error) {
		result, err := readFio(streams, name)
		if err != nil {
			return nil, err
		}
		return parseFio(result), nil
	},
	"ior":    parseIOR,
	"mdtest": parseMdtest,
}

// parseFio has one repetition for each operation that fio did: it repeats nothing by itself.
func parseFio(result fioResult) parseDocument {
	document := parseDocument{
		SchemaVersion: report.SchemaVersion,
		Tool:          "fio",
		Version:       result.Snapshot.Version,
		Complete:      result.Outcome == fio.Complete && !result.interrupted,
		Warnings:      []string{},
		Repetitions:   []parseRepetition{},
		Summary:       []parseSummary{},
	}
	for _, warning := range result.Warnings {
		document.Warnings = append(document.Warnings, fmt.Sprintf("%s: %s", warning.Kind, warning.Message))
	}
	total := result.Snapshot.HasBins()
	for _, operation := range measure.Operations {
		one := &result.Snapshot.Operations[operation]
		merged := mergeOperation([]fioResult{result}, operation, total)
		if merged.Operations == 0 && merged.Latency == nil {
			continue
		}
		repetition := parseRepetition{
			Operation: operation.String(), Bytes: one.Bytes, Operations: one.Operations,
			RuntimeMilliseconds: one.RuntimeMilliseconds, Latency: merged.Latency,
		}
		if one.RuntimeMilliseconds > 0 {
			seconds := float64(one.RuntimeMilliseconds) / 1000
			repetition.BytesPerSecond = int64(float64(one.Bytes)/seconds + 0.5)
			repetition.IOPSMilli = int64(float64(one.Operations)/seconds*1000 + 0.5)
		}
		document.Repetitions = append(document.Repetitions, repetition)
		document.Summary = append(document.Summary, parseSummary{
			Operation: operation.String(), MeanBytesPerSecond: repetition.BytesPerSecond,
			MinBytesPerSecond: repetition.BytesPerSecond, MaxBytesPerSecond: repetition.BytesPerSecond, Repetitions: 1,
		})
	}
	return document
}
