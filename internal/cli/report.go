package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/internal/report"
)

func newReport(streams Streams) *cobra.Command {
	var output, table, file string
	var flags *clusterFlags
	command := &cobra.Command{
		Use:   "report RUN|BENCHMARK|FILE",
		Short: "Show the result of a run: text, JSON, CSV, Markdown or HTML",
		Long: "Show the result of a run: of a BenchmarkRun in a cluster, of the newest run of a StorageBenchmark\n" +
			"there, or of a file that `run -o json` wrote (- is standard input). A file of that name comes before\n" +
			"a run of that name; run/NAME is always the run in the cluster.\n\n" +
			"-o html is one file that opens offline, with charts over time. -o markdown is for a pull request.\n" +
			"-o csv is what was measured over time; --table chooses rates (series), percentiles of each minute\n" +
			"(latency), the distribution of latencies or the rates of the clients. Exit codes are those of `run`.",
		Example: "  kubectl storagebench report quickstart\n" +
			"  kubectl storagebench report quickstart-1a2b3c4d -o html > report.html\n" +
			"  kubectl storagebench run --local -f bench.yaml --target data=/mnt/data -o json > result.json\n" +
			"  kubectl storagebench report result.json -o html --file report.html\n" +
			"  kubectl storagebench report result.json -o csv --table latency > latency.csv",
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			if !slices.Contains(outputs, output) {
				return badOutput(output)
			}
			if table != string(report.CSVSeries) && output != "csv" {
				return fmt.Errorf("--table %s is for -o csv", table)
			}
			document, err := documentOf(command.Context(), streams, flags, arguments[0])
			if err != nil {
				return err
			}
			if err := writeTo(streams, file, func(w io.Writer) error {
				if output == "csv" {
					return report.CSV(w, document, report.CSVTable(table))
				}
				return write(w, output, document)
			}); err != nil {
				return err
			}
			return exit(report.ExitCode(document))
		},
	}
	outputFlag(command, &output)
	command.Flags().StringVar(&table, "table", string(report.CSVSeries), "what -o csv writes: series, latency, distribution or clients")
	command.Flags().StringVar(&file, "file", "", "write to this file, and not to standard output")
	flags = newClusterFlags(command)
	return command
}

// outputs are the forms of a run.
var outputs = []string{"text", "json", "yaml", "csv", "markdown", "html"}

func outputFlag(command *cobra.Command, output *string) {
	command.Flags().StringVarP(output, "output", "o", "text", strings.Join(outputs[:len(outputs)-1], ", ")+" or "+outputs[len(outputs)-1])
	fixedValues(command, "output", outputs...)
}

// show writes a document in the form that was asked for.
func show(streams Streams, output string, document report.Document) error {
	return write(streams.Out, output, document)
}

func write(w io.Writer, output string, document report.Document) error {
	switch output {
	case "text":
		return report.Text(w, document)
	case "json":
		return report.JSON(w, document)
	case "yaml":
		text, err := yaml.Marshal(document)
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		_, err = w.Write(text)
		return err
	case "csv":
		return report.CSV(w, document, report.CSVSeries)
	case "markdown":
		return report.Markdown(w, document)
	case "html":
		return report.HTML(w, document)
	}
	return badOutput(output)
}

func badOutput(output string) error {
	return fmt.Errorf("--output %q is not known: use %s or %s", output, strings.Join(outputs[:len(outputs)-1], ", "), outputs[len(outputs)-1])
}
