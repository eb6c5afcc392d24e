package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/live"
	"github.com/storagebench/storagebench/internal/report"
)

// listDocument is the output of `list -o json`: the benchmarks, or the runs of one of them.
type listDocument struct {
	SchemaVersion int               `json:"schemaVersion"`
	Benchmarks    []listedBenchmark `json:"benchmarks,omitempty"`
	Runs          []listedRun       `json:"runs,omitempty"`

	allNamespaces bool
}

// listedBenchmark is a StorageBenchmark with its verdict and its main figure.
type listedBenchmark struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Stage     string `json:"stage"`
	// Ready is the status of the Ready condition; Reason is its reason.
	Ready  string `json:"ready"`
	Reason string `json:"reason,omitempty"`
	// Run is the live run, or else the last one. Phase is the current phase of a live run.
	Run   string `json:"run,omitempty"`
	Phase string `json:"phase,omitempty"`
	// LastRun is the newest evaluated run; Display is its main figure.
	LastRun string                    `json:"lastRun,omitempty"`
	Display *v1alpha1.HeadlineDisplay `json:"display,omitempty"`
	Next    *metav1.Time              `json:"nextScheduleTime,omitempty"`
}

// listedRun is a BenchmarkRun with its main figure.
type listedRun struct {
	Namespace string                    `json:"namespace"`
	Name      string                    `json:"name"`
	Benchmark string                    `json:"benchmark"`
	Hash      string                    `json:"hash"`
	Stage     string                    `json:"stage"`
	Phase     string                    `json:"phase,omitempty"`
	Verdict   string                    `json:"verdict"`
	Created   metav1.Time               `json:"creationTime"`
	StartTime *metav1.MicroTime         `json:"startTime,omitempty"`
	EndTime   *metav1.MicroTime         `json:"endTime,omitempty"`
	Display   *v1alpha1.HeadlineDisplay `json:"display,omitempty"`
}

func newList(streams Streams) *cobra.Command {
	var output string
	var allNamespaces bool
	command := &cobra.Command{
		Use:        "list [BENCHMARK]",
		Aliases:    []string{"ls"},
		SuggestFor: []string{"get", "status"},
		Short:      "List benchmarks, or the runs of a benchmark",
		Long: "List the StorageBenchmarks of a namespace with their verdict, their live or last run and its main\n" +
			"figure. A live run shows its current phase instead; -o json also has the figure of the last run\n" +
			"that ended. With the name of a benchmark, list its runs, newest first. `report RUN` shows the\n" +
			"full result.",
		Example: "  kubectl storagebench list\n" +
			"  kubectl storagebench list --all-namespaces\n" +
			"  kubectl storagebench list nightly -n storage-tests\n" +
			"  kubectl storagebench list nightly -o json",
		Args: numberOfArguments(0, 1),
	}
	flags := newClusterFlags(command)
	command.Flags().BoolVarP(&allNamespaces, "all-namespaces", "A", false, "list the benchmarks in all namespaces")
	formFlag(command, &output, "text", "json", "yaml")
	command.ValidArgsFunction = flags.completeBenchmarks
	command.RunE = func(command *cobra.Command, arguments []string) error {
		if allNamespaces && len(arguments) > 0 {
			return errors.New("--all-namespaces cannot be combined with a name: remove the flag, or the name " + arguments[0])
		}
		cluster, err := flags.connect()
		if err != nil {
			return err
		}
		document := listDocument{SchemaVersion: report.SchemaVersion, allNamespaces: allNamespaces}
		switch {
		case len(arguments) > 0:
			document.Runs, err = cluster.runsOf(command.Context(), arguments[0])
		case allNamespaces:
			everywhere := *cluster
			everywhere.namespace = metav1.NamespaceAll
			document.Benchmarks, err = everywhere.benchmarks(command.Context())
		default:
			document.Benchmarks, err = cluster.benchmarks(command.Context())
		}
		if err != nil {
			return err
		}
		if len(document.Benchmarks)+len(document.Runs) == 0 && output == "text" {
			_, _ = fmt.Fprintln(streams.Err, nothingListed(cluster.namespace, arguments, allNamespaces))
			return nil
		}
		return printAs(streams.Out, output, document, document.text)
	}
	return command
}

func nothingListed(namespace string, arguments []string, allNamespaces bool) string {
	switch {
	case len(arguments) > 0:
		return "StorageBenchmark " + arguments[0] + " has no runs"
	case allNamespaces:
		return "the cluster has no StorageBenchmarks"
	}
	return "namespace " + namespace + " has no StorageBenchmarks"
}

// list reads all objects of a resource in the namespace that match a label selector.
func list[T any](ctx context.Context, c *cluster, resource schema.GroupVersionResource, selector string) ([]T, error) {
	found, err := c.client.Resource(resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, explained(err)
	}
	all := make([]T, len(found.Items))
	for i := range found.Items {
		if err := decode(&found.Items[i], &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *cluster) benchmarks(ctx context.Context) ([]listedBenchmark, error) {
	found, err := list[v1alpha1.StorageBenchmark](ctx, c, benchmarkResource, "")
	var all []listedBenchmark
	for i := range found {
		status := &found[i].Status
		one := listedBenchmark{Namespace: found[i].Namespace, Name: found[i].Name, Stage: cmp.Or(status.Stage, v1alpha1.StagePending),
			Ready: string(metav1.ConditionUnknown), Display: status.Display, Next: status.NextScheduleTime}
		if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
			one.Ready, one.Reason = string(ready.Status), ready.Reason
		}
		if status.LastRun != nil {
			one.Run, one.LastRun = status.LastRun.Name, status.LastRun.Name
		}
		if active := activeRunOf(status); active != "" {
			one.Run = active
			one.Phase = c.livePhase(ctx, one.Namespace, active)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b listedBenchmark) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all, err
}

// livePhase returns the current phase of a run. It returns "" if no step has begun, or if the run cannot be read
// because it was deleted or the user is not allowed to read runs. It reads only this run. Few runs are live, whereas a
// list of all runs would transfer the results of every stored run.
func (c *cluster) livePhase(ctx context.Context, namespace, name string) string {
	there := *c
	there.namespace = namespace
	run := &v1alpha1.BenchmarkRun{}
	if err := there.get(ctx, runResource, name, run); err != nil {
		return ""
	}
	return live.CurrentPhase(run)
}

// runsOf returns the runs of a benchmark, newest first. It also returns the runs of a deleted benchmark, because runs
// can outlive their benchmark.
func (c *cluster) runsOf(ctx context.Context, name string) ([]listedRun, error) {
	err := c.get(ctx, benchmarkResource, name, &v1alpha1.StorageBenchmark{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	found, listErr := list[v1alpha1.BenchmarkRun](ctx, c, runResource, v1alpha1.LabelBenchmark+"="+name)
	switch {
	case listErr != nil:
		return nil, listErr
	case err != nil && len(found) == 0:
		return nil, fmt.Errorf("namespace %s has no StorageBenchmark %q: list them with `kubectl storagebench list`", c.namespace, name)
	}
	slices.SortFunc(found, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	var all []listedRun
	for i := range found {
		run := &found[i]
		all = append(all, listedRun{Namespace: run.Namespace, Name: run.Name, Benchmark: run.Spec.BenchmarkRef.Name, Hash: run.Spec.Hash,
			Stage: cmp.Or(run.Status.Stage, v1alpha1.StagePending), Phase: live.CurrentPhase(run), Verdict: report.Verdict(report.NewDocument(run, "")), Created: run.CreationTimestamp,
			StartTime: run.Status.StartTime, EndTime: run.Status.EndTime, Display: run.Status.Display})
	}
	return all, nil
}

func (d listDocument) text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		for i := range cells {
			cells[i] = cmp.Or(cells[i], "-")
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if len(d.Runs) > 0 {
		row("RUN", "STARTED", "TOOK", "VERDICT", "RESULT", "P99", "FIGURE")
		for i := range d.Runs {
			one := &d.Runs[i]
			row(append([]string{one.Name, startedText(one), tookText(one), inPhase(one.Verdict, one.Phase)}, displayTexts(one.Display)...)...)
		}
		return table.Flush()
	}
	named := func(namespace string, cells ...string) {
		if d.allNamespaces {
			cells = append([]string{namespace}, cells...)
		}
		row(cells...)
	}
	named("NAMESPACE", "BENCHMARK", "STAGE", "READY", "REASON", "RUN", "NEXT", "RESULT", "P99", "FIGURE")
	for i := range d.Benchmarks {
		one := &d.Benchmarks[i]
		next := ""
		if one.Next != nil {
			next = clockText(one.Next.Time)
		}
		display := one.Display
		if one.Run != one.LastRun {
			display = nil // the line shows the live run, but the figure belongs to an earlier run
		}
		named(one.Namespace, append([]string{one.Name, inPhase(one.Stage, one.Phase), one.Ready, one.Reason, one.Run, next}, displayTexts(display)...)...)
	}
	return table.Flush()
}

// inPhase returns the text of the STAGE column: the stage of a benchmark or a run and, while a run is live, its current
// phase.
func inPhase(stage, phase string) string {
	if phase == "" {
		return stage
	}
	return stage + ": " + phase
}

func displayTexts(display *v1alpha1.HeadlineDisplay) []string {
	if display == nil {
		return []string{"", "", ""}
	}
	return []string{display.Result, display.P99, display.Figure}
}

func startedText(run *listedRun) string {
	if run.StartTime == nil {
		return ""
	}
	return clockText(run.StartTime.Time)
}

func tookText(run *listedRun) string {
	if run.StartTime == nil || run.EndTime == nil {
		return ""
	}
	return about(run.EndTime.Sub(run.StartTime.Time).Seconds())
}

// clockText formats a time in UTC, to the minute.
func clockText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04Z") }
