package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/report"
)

// defaultMargin is the largest difference, in percent, at which two figures still count as equal.
const defaultMargin = 5

func newCompare(streams Streams) *cobra.Command {
	var output, file string
	var margin float64
	var repeats bool
	var flags *clusterFlags
	command := &cobra.Command{
		Use:   "compare RUN[:TARGET] RUN[:TARGET]...",
		Short: "Compare runs, or the targets of a run",
		Long: "Compare each run with the first one, phase by phase and target by target, and show the difference,\n" +
			"its 95 % interval and which run is better. Matrices are compared cell by cell, and a single run with several\n" +
			"targets is compared target by target. RUN is a file, a BenchmarkRun or a StorageBenchmark, as for `report`.\n\n" +
			"With --equivalent-within, two figures are equivalent if two one-sided tests (TOST) show that they differ\n" +
			"by at most that percentage. Differences in the specifications are listed; phases that cannot be compared\nare left out, with the reason.\n\n" +
			"With --repeats, the runs are repetitions of one specification, and the output shows how much each figure varies\n" +
			"between them, with mean, 95 % interval, standard deviation and coefficient of variation.\n\n" +
			"Exit codes: 0 if the runs were compared; 1 if they cannot be compared; with --equivalent-within, 2 if equivalence\n" +
			"was not shown.",
		Example: "  kubectl storagebench compare before.json after.json\n" +
			"  kubectl storagebench compare nightly-1a2b3c4d nightly-5e6f7a8b -o markdown\n" +
			"  kubectl storagebench compare lustre.json                    # its targets\n" +
			"  kubectl storagebench compare lustre.json:none lustre.json:lz4 -o html --file lustre.html\n" +
			"  kubectl storagebench compare local.json cluster.json --equivalent-within 5\n" +
			"  kubectl storagebench compare --repeats nightly-1a2b3c4d nightly-5e6f7a8b nightly-9c0d1e2f",
		Args: numberOfArguments(1, anyNumber),
		RunE: func(command *cobra.Command, arguments []string) error {
			if repeats && command.Flags().Changed("equivalent-within") {
				return errors.New("--repeats and --equivalent-within are mutually exclusive: remove one of them")
			}
			if repeats {
				return compareRepeats(command.Context(), streams, flags, arguments, output, file)
			}
			all, err := comparedDocuments(command.Context(), streams, flags, arguments)
			if err != nil {
				return err
			}
			made, err := report.Compare(all, margin)
			if err != nil {
				return err
			}
			if err := writeTo(streams, file, func(w io.Writer) error { return writeComparison(w, output, made, all) }); err != nil {
				return err
			}
			if command.Flags().Changed("equivalent-within") && !shownEquivalent(made) {
				return exit(report.ExitMissed)
			}
			return nil
		},
	}
	formFlag(command, &output, "text", "json", "markdown", "html")
	command.Flags().Float64Var(&margin, "equivalent-within", defaultMargin, "largest difference, in percent, that counts as equivalent; if set, the exit code is 2 unless equivalence is shown")
	command.Flags().BoolVar(&repeats, "repeats", false, "show the variance between runs of one specification")
	command.Flags().StringVar(&file, "file", "", "write to this file instead of standard output")
	flags = newClusterFlags(command)
	return command
}

// compareRepeats writes the variance between runs of the same specification.
func compareRepeats(ctx context.Context, streams Streams, flags *clusterFlags, names []string, output, file string) error {
	var all []report.Document
	for _, name := range names {
		document, _, err := documentOf(ctx, streams, flags, name)
		if err != nil {
			return err
		}
		all = append(all, document)
	}
	made, err := report.NewRepeats(all)
	if err != nil {
		return err
	}
	return writeTo(streams, file, func(w io.Writer) error { return writeRepeats(w, output, made) })
}

func writeComparison(w io.Writer, output string, made report.Comparison, all []report.Compared) error {
	switch output {
	case "json":
		return report.CompareJSON(w, made)
	case "markdown":
		return report.CompareMarkdown(w, made, all)
	case "html":
		return report.CompareHTML(w, made, all)
	}
	return report.CompareText(w, made, all)
}

func shownEquivalent(made report.Comparison) bool {
	return !slices.ContainsFunc(made.Comparisons, func(c report.RunsComparison) bool { return c.Equivalent == nil || !*c.Equivalent })
}

// comparedDocuments reads the runs to compare and names each of them. If the user named only one run and no target, it
// returns each target of that run as a side of the comparison.
func comparedDocuments(ctx context.Context, streams Streams, flags *clusterFlags, names []string) ([]report.Compared, error) {
	var all []report.Compared
	for _, name := range names {
		one, err := comparedOf(ctx, streams, flags, name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) == 1 && all[0].Target == "" {
		document := all[0].Document
		all = nil
		for _, target := range document.Spec.Run.Targets {
			all = append(all, report.Compared{Name: target.Name, Target: target.Name, Document: document})
		}
		return all, nil
	}
	return named(all, names), nil
}

// comparedOf reads the document of a run named as RUN or RUN:TARGET on the command line.
func comparedOf(ctx context.Context, streams Streams, flags *clusterFlags, name string) (report.Compared, error) {
	of, target := name, ""
	if at := strings.LastIndex(name, ":"); at > 0 && !exists(name) {
		of, target = name[:at], name[at+1:]
	}
	document, _, err := documentOf(ctx, streams, flags, of)
	if err != nil {
		return report.Compared{}, err
	}
	return report.Compared{Name: document.Run, Target: target, Document: document}, nil
}

// named names each side of a comparison after its run and, if one was chosen, its target. Sides with the same name are
// instead named after the last elements of their paths, with as many elements as needed to distinguish them.
func named(all []report.Compared, arguments []string) []report.Compared {
	for i := range all {
		if all[i].Target != "" {
			all[i].Name += ":" + all[i].Target
		}
	}
	longest := 0
	for _, argument := range arguments {
		longest = max(longest, strings.Count(argument, "/")+1)
	}
	for elements := range longest {
		count := map[string]int{}
		for i := range all {
			count[all[i].Name]++
		}
		for i := range all {
			if count[all[i].Name] > 1 {
				all[i].Name = endOf(arguments[i], elements+1)
			}
		}
	}
	return all
}

// endOf returns the last elements of a path, joined by slashes.
func endOf(path string, elements int) string {
	all := strings.Split(path, "/")
	return strings.Join(all[max(0, len(all)-elements):], "/")
}
