package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/report"
)

// fieldManager is who owns the fields that `run` applies.
const fieldManager = "kubectl-storagebench"

// runInCluster applies the file and follows the run that comes of it.
func runInCluster(ctx context.Context, streams Streams, options runOptions, flags *clusterFlags) error {
	if len(options.targets) > 0 || options.fio != "" {
		return errors.New("--target and --fio are for --local: in a cluster the targets are the claims of the file")
	}
	read, err := loadFor(streams, options.file, loadOptions{profilesElsewhere: true})
	if err != nil {
		return err
	}
	cluster, err := flags.connect()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if namespace := read.benchmark.Namespace; namespace != "" {
		if given := *flags.config.Namespace; given != "" && given != namespace {
			return fmt.Errorf("the file says namespace %s and -n says %s: remove one of them", namespace, given)
		}
		cluster.namespace = namespace
	}
	before := &v1alpha1.StorageBenchmark{}
	existed := true
	if err := cluster.get(ctx, benchmarkResource, read.benchmark.Name, before); apierrors.IsNotFound(err) {
		existed = false
	} else if err != nil {
		return err
	}
	for i := range read.objects {
		if err := cluster.apply(ctx, streams, &read.objects[i], options.forceConflicts); err != nil {
			return err
		}
	}
	name := read.benchmark.Name
	chosen, err := cluster.ask(ctx, streams, name, before, existed)
	if err != nil {
		return left(ctx, streams, name, err)
	}
	run, err := cluster.awaitRun(ctx, streams, name, chosen)
	if err != nil {
		return left(ctx, streams, name, err)
	}
	if !options.watch {
		_, _ = fmt.Fprintln(streams.Out, run)
		return nil
	}
	return left(ctx, streams, run, cluster.followRun(ctx, streams, run, options))
}

// apply writes an object as the file has it.
func (c *cluster) apply(ctx context.Context, streams Streams, object *admission.Object, force bool) error {
	written := &unstructured.Unstructured{Object: object.Written}
	var to dynamic.ResourceInterface
	switch {
	case object.ClusterProfile != nil:
		to = c.client.Resource(clusterProfileResource)
	case object.Profile != nil:
		to = c.client.Resource(profileResource).Namespace(c.namespaceOf(written))
	default:
		to = c.client.Resource(benchmarkResource).Namespace(c.namespaceOf(written))
	}
	applied, err := to.Apply(ctx, written.GetName(), written, metav1.ApplyOptions{FieldManager: fieldManager, Force: force})
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("apply %s %s: somebody else has set other values, by other means: %w; --force-conflicts takes those of the file", written.GetKind(), written.GetName(), err)
	case err != nil:
		return fmt.Errorf("apply %s %s: %w", written.GetKind(), written.GetName(), explained(err))
	}
	_, _ = fmt.Fprintf(streams.Err, "%s %s applied\n", applied.GetKind(), applied.GetName())
	return nil
}

func (c *cluster) namespaceOf(object *unstructured.Unstructured) string {
	if namespace := object.GetNamespace(); namespace != "" {
		return namespace
	}
	return c.namespace
}

// ask sees to it that there is a run to follow, and gives what tells which one that is. What was applied asks for one
// by itself where its spec.run was never run; else one more is asked for, unless one is live.
func (c *cluster) ask(ctx context.Context, streams Streams, name string, before *v1alpha1.StorageBenchmark, existed bool) (func(*v1alpha1.StorageBenchmarkStatus) string, error) {
	after := &v1alpha1.StorageBenchmark{}
	if err := c.get(ctx, benchmarkResource, name, after); err != nil {
		return nil, err
	}
	hash := plan.RunHash(&after.Spec.Run)
	last := ""
	if before.Status.LastRun != nil {
		last = before.Status.LastRun.UID
	}
	// The run of what was applied: live, or ended already, if it was short.
	chosen := func(status *v1alpha1.StorageBenchmarkStatus) string {
		switch {
		case activeRunOf(status) != "" && status.ActiveRun.Hash == hash:
			return status.ActiveRun.Name
		case status.LastRun != nil && status.LastRun.UID != last && status.LastRun.Hash == hash:
			return status.LastRun.Name
		}
		return ""
	}
	switch active := after.Status.ActiveRun; {
	case active != nil && active.Hash == hash:
		if existed && active.UID != "" {
			_, _ = fmt.Fprintf(streams.Err, "run %s of the same specification is live\n", active.Name)
		}
		return chosen, nil
	case !existed || after.Status.LastRun == nil || after.Status.LastRun.Hash != hash:
		return chosen, nil
	}
	request := time.Now().UTC().Format(time.RFC3339Nano)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationRequestedAt: request}}})
	if err != nil {
		return nil, fmt.Errorf("ask for a run: %w", err)
	}
	if _, err := c.client.Resource(benchmarkResource).Namespace(c.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return nil, fmt.Errorf("ask for a run: %w", err)
	}
	_, _ = fmt.Fprintln(streams.Err, "it was run before: one more run is asked for")
	return chosen, nil
}

// report shows a run of a cluster, and gives the exit code of what it measured.
func (c *cluster) report(ctx context.Context, streams Streams, run *v1alpha1.BenchmarkRun, options runOptions) (int, error) {
	document, err := c.document(ctx, run)
	if err != nil {
		return 0, err
	}
	return report.ExitCode(document), present(streams, options, document)
}

// codeOf is the exit code of a run, with what its benchmark makes of it: a regression is no matter of one run alone.
func codeOf(code int, run *v1alpha1.BenchmarkRun, judged *v1alpha1.StorageBenchmark) int {
	if judged == nil || judged.Status.LastRun == nil || judged.Status.LastRun.UID != string(run.UID) {
		return code
	}
	if code == report.ExitMet && judged.Status.LastRun.Reason == v1alpha1.ReasonRegressed {
		return report.ExitMissed
	}
	return code
}

func conditionOf(benchmark *v1alpha1.StorageBenchmark, kind string) *metav1.Condition {
	for i := range benchmark.Status.Conditions {
		if benchmark.Status.Conditions[i].Type == kind {
			return &benchmark.Status.Conditions[i]
		}
	}
	return nil
}
