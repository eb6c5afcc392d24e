package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/report"
)

// exitLeft is the exit code if the user stops watching a run that continues. Shells use the same code for Ctrl-C.
const exitLeft = 130

// leaveHint is the last line of the live view of a run in a cluster.
const leaveHint = "Ctrl-C closes this view; the run continues in the cluster"

func newWatch(streams Streams) *cobra.Command {
	var output string
	var verbose bool
	command := &cobra.Command{
		Use:        "watch NAME",
		SuggestFor: []string{"follow", "logs"},
		Short:      "Watch a run in a cluster",
		Long: "Show the progress of a run in a cluster: completed and remaining phases with their expected end, throughput\n" +
			"and IOPS of the running step, latency, clients, estimated credit balance and warnings. At the end, show the\n" +
			"result. NAME is a BenchmarkRun or a StorageBenchmark. For a StorageBenchmark, the command shows its live run, or\n" +
			"else its last run; if it has no run yet, the command waits for one. On a terminal, the progress is a live view;\n" +
			"otherwise, it is printed as plain lines. Ctrl-C stops watching; the run continues.\n\n" +
			exitCodes + "\n130 if watching was interrupted.",
		Example: "  kubectl storagebench watch quickstart\n" +
			"  kubectl storagebench watch quickstart-1a2b3c4d -n storage-tests --context production\n" +
			"  kubectl storagebench watch nightly -o json > result.json",
		Args: numberOfArguments(1, 1),
	}
	flags := newClusterFlags(command)
	outputFlag(command, &output, &verbose)
	command.ValidArgsFunction = flags.completeRuns
	command.RunE = func(command *cobra.Command, arguments []string) error {
		cluster, err := flags.connect()
		if err != nil {
			return err
		}
		ctx, stop := untilSignal(command.Context())
		defer stop()
		name, err := cluster.runToWatch(ctx, streams, arguments[0])
		if err != nil {
			return cluster.left(ctx, streams, arguments[0], err)
		}
		options := runOptions{output: output, verbose: verbose, repeat: 1}
		_, err = cluster.followRuns(ctx, streams, &repetitions{}, "", name, leaveHint, options)
		return cluster.left(ctx, streams, name, err)
	}
	return command
}

// left is called when watching a run ends. If the user stopped watching, left prints how to watch the run again or stop
// it, and returns exitLeft. Otherwise it returns err.
func (c *cluster) left(ctx context.Context, streams Streams, name string, err error) error {
	if !interrupted(ctx, err) {
		return err
	}
	_, _ = fmt.Fprintf(streams.Err, "\nStopped watching; %s continues in the cluster.\n"+
		"  watch again:  kubectl storagebench watch %s -n %s\n"+
		"  stop it:      kubectl storagebench cancel %s -n %s\n", name, name, c.namespace, name, c.namespace)
	return exit(exitLeft)
}

// interrupted reports whether the user interrupted the command before it showed the result.
func interrupted(ctx context.Context, err error) bool {
	var code exitError
	return err != nil && ctx.Err() != nil && !errors.As(err, &code)
}

// runToWatch returns the name of the run to watch. For a StorageBenchmark this is its live run, or else its last run.
// If it has neither, runToWatch waits for one.
func (c *cluster) runToWatch(ctx context.Context, streams Streams, name string) (string, error) {
	_, benchmark, err := c.runOrBenchmark(ctx, name)
	if err != nil || benchmark == nil {
		return name, err
	}
	if benchmark.Status.ActiveRun == nil && benchmark.Status.LastRun != nil {
		_, _, err := c.findRun(ctx, name) // return an error if the run was deleted
		return benchmark.Status.LastRun.Name, err
	}
	return c.awaitRun(ctx, streams, name, activeRunOf)
}

// activeRunOf returns the name of the active run, or "" if there is none or it has not been created yet.
func activeRunOf(status *v1alpha1.StorageBenchmarkStatus) string {
	if status.ActiveRun == nil || status.ActiveRun.UID == "" {
		return ""
	}
	return status.ActiveRun.Name
}

// awaitRun waits until chosen returns the name of a run. Meanwhile, it prints the reason why the benchmark has not
// started one.
func (c *cluster) awaitRun(ctx context.Context, streams Streams, name string, chosen func(*v1alpha1.StorageBenchmarkStatus) string) (found string, err error) {
	told := ""
	err = c.each(ctx, benchmarkResource, name, streams.Err, func(object *unstructured.Unstructured) error {
		benchmark := &v1alpha1.StorageBenchmark{}
		if err := decode(object, benchmark); err != nil {
			return err
		}
		if found = chosen(&benchmark.Status); found != "" {
			return errDone
		}
		if benchmark.Status.ObservedGeneration < benchmark.Generation {
			return nil // the status does not reflect the current specification yet: keep waiting
		}
		if stalled := meta.FindStatusCondition(benchmark.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil &&
			stalled.Status == metav1.ConditionTrue && !verdictOf(benchmark.Status.LastRun, stalled) {
			return fmt.Errorf("StorageBenchmark %s cannot start a run: %s: %s", name, stalled.Reason, stalled.Message)
		}
		if benchmark.Spec.Suspend != nil && *benchmark.Spec.Suspend {
			return fmt.Errorf("StorageBenchmark %s is suspended: set spec.suspend to false", name)
		}
		if waiting := waitingFor(benchmark); waiting != told {
			told = waiting
			_, _ = fmt.Fprintf(streams.Err, "waiting for a run of %s: %s\n", name, waiting)
		}
		return nil
	})
	if errors.Is(err, errDeleted) {
		return "", fmt.Errorf("StorageBenchmark %s was deleted", name)
	}
	return found, err
}

// verdictOf reports whether a condition only states the verdict on the last run. Such a condition does not prevent
// another run.
func verdictOf(last *v1alpha1.JudgedRun, condition *metav1.Condition) bool {
	return last != nil && condition.Reason == last.Reason && condition.Message == last.Message
}

// followToEnd shows a run until it has ended, and returns its last state. hint is the last line of the live view.
func (c *cluster) followToEnd(ctx context.Context, streams Streams, name, hint string) (*v1alpha1.BenchmarkRun, error) {
	var shown *follower
	end := func() {
		if shown != nil {
			shown.end()
			shown = nil
		}
	}
	defer end()
	var run *v1alpha1.BenchmarkRun
	err := c.each(ctx, runResource, name, streams.Err, func(object *unstructured.Unstructured) error {
		run = &v1alpha1.BenchmarkRun{}
		if err := decode(object, run); err != nil {
			return err
		}
		if shown == nil {
			if run.Status.EndTime != nil {
				return errDone // the run has already ended
			}
			planned := plan.Show(&run.Spec)
			_, _ = fmt.Fprintf(streams.Err, "%s: run %s in namespace %s\n", run.Spec.BenchmarkRef.Name, run.Name, c.namespace)
			shown = follow(streams, &planned, hint)
		}
		shown.see(run)
		if run.Status.EndTime != nil {
			return errDone
		}
		return nil
	})
	end()
	if errors.Is(err, errDeleted) {
		return nil, fmt.Errorf("run %s was deleted before it ended", name)
	}
	return run, err
}

// judgeTimeout limits how long to wait for the operator to evaluate a run that has ended. It exceeds the time that a
// standby replica of the operator needs to replace a killed leader.
const judgeTimeout = time.Minute

// result returns the document of a run that has ended, and its exit code. It waits for the operator to evaluate the
// run, because only that evaluation detects a regression. If the API server does not answer, result omits the missing
// data instead of returning an error, because an outage after the end of a run must not lose the run's result.
func (c *cluster) result(
	ctx context.Context, streams Streams, run *v1alpha1.BenchmarkRun,
) (report.Document, int, error) {
	benchmark := c.judgedWithin(ctx, streams, run, judgeTimeout)
	if ctx.Err() != nil {
		return report.Document{}, 0, context.Cause(ctx)
	}
	// Read the run again, because the evaluation may have extended its status. Keep the earlier state of a cancelled run,
	// which no longer exists.
	newer := &v1alpha1.BenchmarkRun{}
	if err := c.get(ctx, runResource, run.Name, newer); err == nil && newer.UID == run.UID {
		run = newer
	}
	document := report.NewDocument(run, "").With(c.newestSeries(ctx, streams, run, nil))
	document, code := judged(streams, document, benchmark)
	return document, code, nil
}

// judgedWithin waits until the operator has evaluated the run, until the run is no longer the active run of its
// benchmark, or until patience has passed. It then returns the benchmark, or nil if the benchmark does not exist or
// cannot be read. It prints a message if a regression could not be detected because patience has passed.
func (c *cluster) judgedWithin(
	ctx context.Context, streams Streams, run *v1alpha1.BenchmarkRun, patience time.Duration,
) *v1alpha1.StorageBenchmark {
	until := time.Now().Add(patience)
	for {
		benchmark := &v1alpha1.StorageBenchmark{}
		err := c.get(ctx, benchmarkResource, run.Spec.BenchmarkRef.Name, benchmark)
		switch last := benchmark.Status.LastRun; {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return nil // The benchmark may have been deleted before its run ended. There is then no evaluation to wait for.
		case err == nil && (last != nil && last.UID == string(run.UID) || activeRunOf(&benchmark.Status) != run.Name):
			return benchmark
		case time.Now().After(until):
			if err != nil {
				_, _ = fmt.Fprintf(streams.Err, "cannot read the evaluation of run %s: %v\n", run.Name, err)
				return nil
			}
			if benchmark.Spec.Regression != nil {
				_, _ = fmt.Fprintf(streams.Err, "the operator has not evaluated run %s for regressions within %s: check that the operator is running, then see `kubectl storagebench report %s -n %s`\n",
					run.Name, patience, benchmark.Name, c.namespace)
			}
			return benchmark
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}
