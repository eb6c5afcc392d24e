package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/live"
	"github.com/storagebench/storagebench/internal/report"
)

func newReport(streams Streams) *cobra.Command {
	var output, table, file string
	var verbose bool
	var flags *clusterFlags
	command := &cobra.Command{
		Use:        "report RUN|BENCHMARK|FILE",
		SuggestFor: []string{"show", "describe", "result"},
		Short:      "Show the result of a run: text, JSON, CSV, Markdown or HTML",
		Long: "Show the result of a BenchmarkRun in a cluster, of the latest run of a StorageBenchmark\n" +
			"there, or of a JSON or YAML file that `run` wrote with --save or -o (- for standard input). A file takes\n" +
			"precedence over a run of the same name; run/NAME always means the run in the cluster.\n\n" +
			"The text fits on one screen; -v adds notes, evidence, the timeline and all other details.\n" +
			"-o html is one file that opens offline, with charts over time. -o markdown is for a pull request.\n" +
			"-o csv prints the measurements over time; --table selects rates (series), percentiles per minute\n" +
			"(latency), the latency distribution, or the rates per client. The exit codes are those of `run`.\n" +
			"For a StorageBenchmark, the exit code and the verdict reflect its current objectives and the comparison\n" +
			"with earlier runs, like its Ready condition.",
		Example: "  kubectl storagebench report quickstart\n" +
			"  kubectl storagebench report quickstart-1a2b3c4d -o html > report.html\n" +
			"  kubectl storagebench run --local -f bench.yaml --target data=/mnt/data -o json > result.json\n" +
			"  kubectl storagebench report result.json -o html --file report.html\n" +
			"  kubectl storagebench report result.json -o csv --table latency > latency.csv",
		Args: numberOfArguments(1, 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			if table != string(report.CSVSeries) && output != "csv" {
				return fmt.Errorf("--table %s requires -o csv", table)
			}
			document, benchmark, err := documentOf(command.Context(), streams, flags, arguments[0])
			if err != nil {
				return err
			}
			document, code := judged(streams, document, benchmark)
			text := reportOptions(streams, verbose)
			if file != "" {
				text.Columns = 0
			}
			if err := writeTo(streams, file, func(w io.Writer) error {
				if output == "csv" {
					return report.CSV(w, document, report.CSVTable(table))
				}
				return write(w, output, document, text)
			}); err != nil {
				return err
			}
			return exit(code)
		},
	}
	outputFlag(command, &output, &verbose)
	command.Flags().StringVar(&table, "table", string(report.CSVSeries), "table for -o csv: series, latency, distribution, clients or observations")
	command.Flags().StringVar(&file, "file", "", "write to this file instead of standard output")
	flags = newClusterFlags(command)
	return command
}

// outputFlag adds -o and -v to a command that shows a run.
func outputFlag(command *cobra.Command, output *string, verbose *bool) {
	formFlag(command, output, "text", "json", "yaml", "csv", "markdown", "html")
	command.Flags().BoolVarP(verbose, "verbose", "v", false, "text with notes, evidence, timeline and all other details")
}

// reportOptions returns the options for a text report on standard output. The report contains a chart only if standard
// output is a terminal.
func reportOptions(streams Streams, verbose bool) report.TextOptions {
	columns, ascii := live.Terminal(streams.printed)
	return report.TextOptions{Verbose: verbose, Columns: columns, ASCII: ascii}
}

func write(w io.Writer, output string, document report.Document, text report.TextOptions) error {
	switch output {
	case "json":
		return report.JSON(w, document)
	case "csv":
		return report.CSV(w, document, report.CSVSeries)
	case "markdown":
		return report.Markdown(w, document)
	case "html":
		return report.HTML(w, document)
	}
	return printAs(w, output, document, func(w io.Writer) error { return report.Text(w, document, text) })
}
