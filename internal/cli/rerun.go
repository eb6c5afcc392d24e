package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

func newRerun(streams Streams) *cobra.Command {
	options := runOptions{}
	command := &cobra.Command{
		Use:   "rerun NAME",
		Short: "Rerun a benchmark that is in the cluster, and show the result",
		Long: "Request another run of a StorageBenchmark as it is in the cluster, and follow it like `run`. NAME is the\n" +
			"benchmark or one of its runs; a run of an older specification cannot be repeated. If a run of the benchmark\n" +
			"is live, the new one starts after it, unless spec.trigger.concurrencyPolicy is Replace. With --repeat N, N runs\n" +
			"follow each other, and the result shows how much they vary. --watch=false only prints the name of the run.\n\n" +
			exitCodes + "\n130 if watching was interrupted.",
		Example: "  kubectl storagebench rerun nightly\n" +
			"  kubectl storagebench rerun nightly -n storage-tests --watch=false\n" +
			"  kubectl storagebench rerun nightly --repeat 5 -o markdown",
		Args: numberOfArguments(1, 1),
	}
	flags := newClusterFlags(command)
	command.Flags().BoolVar(&options.watch, "watch", true, "follow the run until it ends, and show its result")
	command.Flags().IntVar(&options.repeat, "repeat", 1, "number of consecutive runs; if more than one, the result shows how much they vary")
	command.Flags().StringArrayVar(&options.save, "save", nil, saveUsage)
	priceFlag(command, &options.price)
	outputFlag(command, &options.output, &options.verbose)
	command.ValidArgsFunction = flags.completeRuns
	command.RunE = func(command *cobra.Command, arguments []string) error {
		if err := options.checkOutputs(); err != nil {
			return err
		}
		return rerun(command.Context(), streams, arguments[0], options, flags)
	}
	return command
}

func rerun(ctx context.Context, streams Streams, name string, options runOptions, flags *clusterFlags) error {
	cluster, err := flags.connect()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	benchmark, err := cluster.benchmarkOf(ctx, name)
	if err != nil {
		return err
	}
	cluster.announce(ctx, streams, loaded{benchmark: benchmark, seed: 1}, options)
	if active := activeRunOf(&benchmark.Status); active != "" {
		_, _ = fmt.Fprintf(streams.Err, "run %s is live: requesting another run\n", active)
	}
	run, err := cluster.nextRun(ctx, streams, benchmark.Name)
	if err != nil {
		return cluster.left(ctx, streams, benchmark.Name, err)
	}
	if !options.watch {
		_, _ = fmt.Fprintln(streams.Out, run)
		return nil
	}
	last, err := cluster.followRuns(ctx, streams, &repetitions{}, benchmark.Name, run, leaveHint, options)
	return cluster.left(ctx, streams, last, err)
}

// benchmarkOf returns the StorageBenchmark with the given name. If the name refers to a BenchmarkRun, it returns the
// run's StorageBenchmark instead, or an error if spec.run has changed since the run.
func (c *cluster) benchmarkOf(ctx context.Context, name string) (*v1alpha1.StorageBenchmark, error) {
	benchmark := &v1alpha1.StorageBenchmark{}
	err := c.get(ctx, benchmarkResource, name, benchmark)
	if err == nil || !apierrors.IsNotFound(err) {
		return benchmark, err
	}
	run, found, err := c.runOrBenchmark(ctx, name)
	if err != nil || run == nil {
		return found, err
	}
	of := run.Spec.BenchmarkRef.Name
	err = c.get(ctx, benchmarkResource, of, benchmark)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("run %s cannot be repeated: its StorageBenchmark %s was deleted", name, of)
	case err != nil:
		return nil, err
	case plan.RunHash(&benchmark.Spec.Run) != run.Spec.Hash:
		return nil, fmt.Errorf("run %s cannot be repeated: spec.run of StorageBenchmark %s has changed since; `rerun %s` runs the current one", name, of, of)
	}
	return benchmark, nil
}
