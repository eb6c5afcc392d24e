package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/series"
)

func newCancel(streams Streams) *cobra.Command {
	options := runOptions{repeat: 1, watch: true}
	var wait bool
	command := &cobra.Command{
		Use:        "cancel NAME",
		SuggestFor: []string{"stop", "delete", "abort"},
		Short:      "Stop a live run, and show its results so far",
		Long: "Stop a live run: its load ends, its data and its claims are removed, and its results so far are shown.\n" +
			"NAME is a BenchmarkRun, or a StorageBenchmark to stop its live run. The run is deleted: use --save to keep\n" +
			"its results. The benchmark stays, and its trigger starts the next run as usual; to prevent that, set\n" +
			"spec.suspend to true.\n\n" +
			"Exit codes: 0 if the run was stopped; 1 if there was no run to stop or stopping failed; 130 if waiting was\ninterrupted.",
		Example: "  kubectl storagebench cancel nightly\n" +
			"  kubectl storagebench cancel nightly-1a2b3c4d -n storage-tests --save partial.json\n" +
			"  kubectl storagebench cancel nightly --wait=false",
		Args: numberOfArguments(1, 1),
	}
	flags := newClusterFlags(command)
	command.Flags().BoolVar(&wait, "wait", true, "wait until the run has ended and its data is removed")
	command.Flags().StringArrayVar(&options.save, "save", nil, saveUsage)
	outputFlag(command, &options.output, &options.verbose)
	command.ValidArgsFunction = flags.completeRuns
	command.RunE = func(command *cobra.Command, arguments []string) error {
		if err := options.checkOutputs(); err != nil {
			return err
		}
		if !wait && len(options.save) > 0 {
			return errors.New("--save requires waiting for the results: remove --wait=false")
		}
		return cancel(command.Context(), streams, arguments[0], wait, options, flags)
	}
	return command
}

func cancel(ctx context.Context, streams Streams, name string, wait bool, options runOptions, flags *clusterFlags) error {
	cluster, err := flags.connect()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	run, err := cluster.liveRun(ctx, name)
	if err != nil {
		return err
	}
	if err := cluster.deleteRun(ctx, run); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(streams.Err, "stopping run %s\n", run.Name)
	if !wait {
		return nil
	}
	document, err := cluster.awaitEnd(ctx, streams, run)
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintf(streams.Err, "run %s is still being stopped\n", run.Name)
		return exit(exitLeft)
	case err != nil:
		return err
	}
	if err := present(streams, options, document); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(streams.Err, "run %s is stopped and deleted\n", run.Name)
	return nil
}

// liveRun returns the live run with the given name, or the live run of the benchmark with that name.
func (c *cluster) liveRun(ctx context.Context, name string) (*v1alpha1.BenchmarkRun, error) {
	run, benchmark, err := c.runOrBenchmark(ctx, name)
	if err != nil {
		return nil, err
	}
	if run == nil {
		active := activeRunOf(&benchmark.Status)
		if active == "" {
			return nil, fmt.Errorf("StorageBenchmark %s has no live run: see kubectl storagebench list %s -n %s", name, name, c.namespace)
		}
		run = &v1alpha1.BenchmarkRun{}
		if err := c.get(ctx, runResource, active, run); err != nil {
			return nil, fmt.Errorf("read the live run of StorageBenchmark %s: %w", name, err)
		}
	}
	switch {
	case run.Status.EndTime != nil:
		return nil, fmt.Errorf("run %s has already ended: see kubectl storagebench report %s -n %s", run.Name, run.Name, c.namespace)
	case run.DeletionTimestamp != nil:
		return nil, fmt.Errorf("run %s is already being stopped", run.Name)
	}
	return run, nil
}

// deleteRun deletes a run, which makes the operator stop it.
func (c *cluster) deleteRun(ctx context.Context, run *v1alpha1.BenchmarkRun) error {
	err := c.client.Resource(runResource).Namespace(c.namespace).Delete(ctx, run.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &run.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("stop run %s: %w", run.Name, err)
	}
	return nil
}

// awaitEnd waits until a deleted run is gone, and returns a document of its last state, including the results so far.
// It reads the series while the run still exists, because the garbage collector deletes the series after the run.
func (c *cluster) awaitEnd(ctx context.Context, streams Streams, run *v1alpha1.BenchmarkRun) (report.Document, error) {
	last := run
	var over *series.Log
	err := c.each(ctx, runResource, run.Name, streams.Err, func(object *unstructured.Unstructured) error {
		seen := &v1alpha1.BenchmarkRun{}
		if err := decode(object, seen); err != nil {
			return err
		}
		if seen.UID != run.UID {
			return errDeleted // the run is gone, and a new run has the same name
		}
		last = seen
		if over == nil || seen.Status.EndTime != nil {
			over = c.newestSeries(ctx, streams, seen, over)
		}
		return nil
	})
	if errors.Is(err, errDeleted) || apierrors.IsNotFound(err) {
		err = nil
	}
	return report.NewDocument(last, "").With(over), err
}

// newestSeries reads the series of a run that is possibly being deleted. known is the series from an earlier read, or
// nil. newestSeries returns known if the series can no longer be read or has fewer steps than known, because the
// garbage collector may already have deleted some of it.
func (c *cluster) newestSeries(ctx context.Context, streams Streams, run *v1alpha1.BenchmarkRun, known *series.Log) *series.Log {
	read, err := c.series(ctx, run)
	if err != nil {
		_, _ = fmt.Fprintf(streams.Err, "%v\n", err)
	}
	if read == nil || known != nil && len(read.Steps) < len(known.Steps) {
		return known
	}
	return read
}
