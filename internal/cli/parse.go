package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/report"
)

// parseDocument is the output of a tool in storagebench's own format.
type parseDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Tool          string `json:"tool"`
	Version       string `json:"version"`
	// Complete is false if the tool was stopped early.
	Complete    bool              `json:"complete"`
	Warnings    []string          `json:"warnings"`
	Repetitions []parseRepetition `json:"repetitions"`
	Summary     []parseSummary    `json:"summary"`
}

type parseRepetition struct {
	Operation           string `json:"operation"`
	BytesPerSecond      int64  `json:"bytesPerSecond"`
	IOPSMilli           int64  `json:"iopsMilli"`
	Bytes               uint64 `json:"bytes"`
	Operations          uint64 `json:"operations"`
	RuntimeMilliseconds int64  `json:"runtimeMilliseconds"`
	// LatencyType is clat (without the time to submit) if fio printed a histogram only of clat. Otherwise it is lat.
	LatencyType string         `json:"latencyType"`
	Latency     *mergedLatency `json:"latency"`
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
		Short: "Parse a tool's output, and reject output that is not a result",
		Long: "Parse a tool's output and print it in storagebench's format. For output that is not a result (an error,\n" +
			"a truncated document, an empty file), the exit code is 1 and the tool's own message is shown. IOR's output can\n" +
			"be a table, JSON or CSV; if it is truncated after some repetitions, it is a result with \"complete\": false.\n" +
			"The file does not contain the tool's exit code: check it separately.",
		Example: "  fio --output-format=json+ --lat_percentiles=1 job.fio | kubectl storagebench parse fio -\n" +
			"  kubectl storagebench parse ior ior.out\n" +
			"  kubectl storagebench parse mdtest mdtest.out",
		Args:      numberOfArguments(2, 2),
		ValidArgs: []string{"fio", "ior", "mdtest"},
		RunE: func(_ *cobra.Command, arguments []string) error {
			parse, known := parsers[arguments[0]]
			if !known {
				return fmt.Errorf("cannot parse the output of %q: use fio, ior or mdtest", arguments[0])
			}
			document, err := parse(streams, arguments[1])
			if err != nil {
				return inFile(arguments[1], err)
			}
			return printAs(streams.Out, output, document, nil)
		},
	}
	formFlag(command, &output, "json", "yaml")
	return command
}

// parsers maps the name of a tool to the function that reads the tool's output into a document.
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

// parseFio converts a fio result. It returns a single repetition for each kind of operation (read, write and so on),
// because fio does not repeat its tests.
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
	for _, operation := range measure.Operations {
		one := &result.Snapshot.Operations[operation]
		total := one.HasBins() || !operation.MovesData() || one.Completion.Histogram.Count() == 0
		merged := mergeOperation([]fioResult{result}, operation, total)
		if merged.Operations == 0 && merged.Latency == nil {
			continue
		}
		document.Warnings = append(document.Warnings, merged.clipped(operation)...)
		repetition := parseRepetition{
			Operation: operation.String(), Bytes: one.Bytes, Operations: merged.Operations,
			RuntimeMilliseconds: one.RuntimeMilliseconds, LatencyType: "lat", Latency: merged.Latency,
		}
		if !total {
			repetition.LatencyType = "clat"
			document.Warnings = append(document.Warnings, fmt.Sprintf("CompletionLatency: %v: the latency is fio's clat, which "+
				"excludes the time to submit and can be far too low", operation))
		}
		if one.RuntimeMilliseconds > 0 {
			seconds := float64(one.RuntimeMilliseconds) / 1000
			repetition.BytesPerSecond = int64(float64(one.Bytes)/seconds + 0.5)
			repetition.IOPSMilli = int64(float64(merged.Operations)/seconds*1000 + 0.5)
			if groups := groupsOf(result.jobs, operation); groups > 1 {
				document.Warnings = append(document.Warnings, fmt.Sprintf("SeveralGroups: %v: the rate is the sum over %d groups "+
					"of jobs. It is too high if the groups ran one after another (stonewall): run each group separately",
					operation, groups))
			}
		}
		document.Repetitions = append(document.Repetitions, repetition)
		document.Summary = append(document.Summary, parseSummary{
			Operation: operation.String(), MeanBytesPerSecond: repetition.BytesPerSecond,
			MinBytesPerSecond: repetition.BytesPerSecond, MaxBytesPerSecond: repetition.BytesPerSecond, Repetitions: 1,
		})
	}
	return document
}

// groupsOf counts the groups of jobs that performed operations of the given kind.
func groupsOf(jobs []fio.Job, operation measure.Operation) int {
	groups := map[int64]bool{}
	for i := range jobs {
		if jobs[i].Operations[operation].Completed() > 0 {
			groups[jobs[i].Group] = true
		}
	}
	return len(groups)
}
