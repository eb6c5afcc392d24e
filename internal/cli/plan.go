package cli

import (
	"io"

	"github.com/spf13/cobra"
)

func newPlan(streams Streams) *cobra.Command {
	var file, output string
	var jobs, all bool
	var seed int64
	command := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what a benchmark would do, without running it",
		Long: "Check a file by the rules of the API server, and show its steps, what they write, how\n" +
			"long they take and, if the limits of the storage are given, the burst credits that they are\n" +
			"expected to spend. JSON and YAML also have spec.run with profiles and defaults filled in.\n" +
			"All errors are reported at once, with their lines. Needs neither a cluster nor the storage,\n" +
			"so a pipeline can run it. Exit codes: 0 it can be run; 1 it cannot.",
		Example: "  kubectl storagebench plan -f config/samples/quickstart.yaml\n" +
			"  kubectl storagebench plan -f bench.yaml --all\n" +
			"  kubectl storagebench plan -f bench.yaml --jobs",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := knownForm(output, "text", "json", "yaml"); err != nil {
				return err
			}
			read, err := load(streams, file, seed)
			if err != nil {
				return err
			}
			shown, err := describePlan(read)
			if err != nil {
				return err
			}
			return printAs(streams.Out, output, shown, func(w io.Writer) error { return shown.text(w, textOptions{jobs: jobs, all: all}) })
		},
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "YAML file with a StorageBenchmark; - for standard input")
	command.Flags().BoolVar(&all, "all", false, "show every step of long phases too; JSON always has them")
	command.Flags().BoolVar(&jobs, "jobs", false, "show what each step runs: the fio job file of client 0, the mpirun command line, the command")
	command.Flags().Int64Var(&seed, "seed", 1, "seed for the order of sweeps; each run has its own")
	formFlag(command, &output, "text", "json", "yaml")
	return command
}
