package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/report"
)

func newReport(streams Streams) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "report FILE",
		Short: "Show the result of a run",
		Long: "Show the result of a run: one that was saved as JSON, or one of a cluster as kubectl prints it.\n" +
			"FILE - is standard input. Exit codes are those of `run`.",
		Example: "  kubectl get benchmarkrun quickstart-1a2b3c4d -o json | kubectl storagebench report -\n" +
			"  kubectl storagebench run --local -f bench.yaml --target data=/mnt/data -o json > result.json\n" +
			"  kubectl storagebench report result.json",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, arguments []string) error {
			file, err := openInput(streams, arguments[0])
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			document, err := report.Read(file)
			if err != nil {
				return fmt.Errorf("%s: %w", arguments[0], err)
			}
			if err := show(streams, output, document); err != nil {
				return err
			}
			return exit(report.ExitCode(document))
		},
	}
	outputFlag(command, &output)
	return command
}

func outputFlag(command *cobra.Command, output *string) {
	command.Flags().StringVarP(output, "output", "o", "text", "text or json")
}

// show writes a document in the form that was asked for.
func show(streams Streams, output string, document report.Document) error {
	switch output {
	case "text":
		return report.Text(streams.Out, document)
	case "json":
		return report.JSON(streams.Out, document)
	}
	return badOutput(output)
}

func badOutput(output string) error {
	return fmt.Errorf("--output %q is not known: use text or json", output)
}
