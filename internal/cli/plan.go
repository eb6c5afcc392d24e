package cli

import (
	"io"

	"github.com/spf13/cobra"
)

func newPlan(streams Streams) *cobra.Command {
	var files []string
	var output string
	var jobs, everyStep bool
	var seed int64
	var perHour float64
	command := &cobra.Command{
		Use:        "plan -f FILE...",
		SuggestFor: []string{"validate", "check", "lint"},
		Short:      "Show what a benchmark would do, without running it",
		Long: "Check a file against the rules of the API server, and show its steps, what they write, how\n" +
			"long they take and, if the limits of the storage are given, the burst credits that they are\n" +
			"expected to spend. With --price-per-hour, also show the cost. JSON and YAML output includes spec.run with\n" +
			"profiles and defaults filled in.\n" +
			"All errors are reported at once, with their lines. The command needs no cluster and no storage,\n" +
			"so a pipeline can run it. Exit codes: 0 if the benchmark can run; 1 if it cannot.\n\n" +
			"All StorageBenchmarks in the files are planned, with the profiles in any of the files. Files may have\n" +
			"several documents, such as the output of kubectl kustomize; in a directory, the .yaml, .yml and\n" +
			".json files are read. Objects of other APIs are skipped and listed. With several\n" +
			"benchmarks, -o json prints a list and -o yaml prints several documents.",
		Example: "  kubectl storagebench plan -f config/samples/quickstart.yaml\n" +
			"  kubectl storagebench plan -f bench.yaml --all\n" +
			"  kubectl storagebench plan -f bench.yaml --jobs\n" +
			"  kubectl storagebench plan -f bench.yaml --price-per-hour 2.5\n" +
			"  kubectl storagebench plan -f config/samples/quickstart.yaml -f config/samples/claims",
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, arguments []string) error {
			if err := checkPrice(perHour); err != nil {
				return err
			}
			all, err := loadAll(streams, append(files, arguments...), loadOptions{seed: seed})
			if err != nil {
				return err
			}
			var shown []planDocument
			for _, one := range all {
				described, err := describePlan(one)
				if err != nil {
					return err
				}
				described.Cost = costOf(&described, perHour, 1)
				shown = append(shown, described)
			}
			return printPlans(streams.Out, output, shown, textOptions{jobs: jobs, all: everyStep})
		},
	}
	filesFlag(command, &files, "file or directory with StorageBenchmarks and their profiles (repeatable); - for standard input")
	command.Flags().BoolVar(&everyStep, "all", false, "show every step of long phases too; JSON always includes them")
	command.Flags().BoolVar(&jobs, "jobs", false, "show what each step runs: the fio job file of client 0, the mpirun command line, or the command")
	command.Flags().Int64Var(&seed, "seed", 1, "seed for the order of sweeps; each run has its own seed")
	priceFlag(command, &perHour)
	formFlag(command, &output, "text", "json", "yaml")
	return command
}

// printPlans prints one or more plans. It prints several plans as a list in JSON, and as separate documents in YAML.
func printPlans(w io.Writer, output string, plans []planDocument, options textOptions) error {
	if output == "json" && len(plans) > 1 {
		return printAs(w, output, plans, nil)
	}
	for i := range plans {
		if i > 0 {
			if _, err := io.WriteString(w, map[string]string{"yaml": "---\n", "text": "\n"}[output]); err != nil {
				return err
			}
		}
		if err := printAs(w, output, plans[i], func(w io.Writer) error { return plans[i].text(w, options) }); err != nil {
			return err
		}
	}
	return nil
}
