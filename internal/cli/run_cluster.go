package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/plan"
)

// fieldManager is the field manager under which `run` applies objects.
const fieldManager = "kubectl-storagebench"

// runInCluster applies the file and follows the resulting run.
func runInCluster(ctx context.Context, streams Streams, options runOptions, flags *clusterFlags) error {
	if len(options.targets) > 0 || options.fio != "" {
		return errors.New("--target and --fio require --local: in a cluster, the benchmark file specifies the claims")
	}
	read, err := load(streams, options.files, loadOptions{inCluster: true})
	if err != nil {
		return err
	}
	cluster, err := flags.connect()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	given := *flags.config.Namespace
	for i := range read.objects {
		object := unstructured.Unstructured{Object: read.objects[i].Written}
		if namespace := object.GetNamespace(); given != "" && namespace != "" && namespace != given {
			return fmt.Errorf("%s %s has namespace %s, but -n is %s: remove one of them",
				object.GetKind(), object.GetName(), namespace, given)
		}
	}
	cluster.namespace = cmp.Or(read.benchmark.Namespace, cluster.namespace)
	cluster.announce(ctx, streams, read, options)
	before := &v1alpha1.StorageBenchmark{}
	existed := true
	if err := cluster.get(ctx, benchmarkResource, read.benchmark.Name, before); apierrors.IsNotFound(err) {
		existed = false
	} else if err != nil {
		return err
	}
	// The benchmark is applied last, because the operator may start its run at once, with the profiles that exist then.
	for _, last := range []bool{false, true} {
		for i := range read.objects {
			if object := &read.objects[i]; (object.Benchmark != nil) == last {
				if err := cluster.apply(ctx, streams, object, options.forceConflicts); err != nil {
					return err
				}
			}
		}
	}
	name := read.benchmark.Name
	chosen, err := cluster.ask(ctx, streams, name, before, existed)
	if err != nil {
		return cluster.left(ctx, streams, name, err)
	}
	run, err := cluster.awaitRun(ctx, streams, name, chosen)
	if err != nil {
		return cluster.left(ctx, streams, name, err)
	}
	if !options.watch {
		_, _ = fmt.Fprintln(streams.Out, run)
		return nil
	}
	last, err := cluster.followRuns(ctx, streams, &repetitions{}, name, run, leaveHint, options)
	return cluster.left(ctx, streams, last, err)
}

// announce writes an estimate of a run. It looks up profiles in the benchmark's files and then in the cluster. It
// writes nothing if a profile is missing, because the operator may wait for the profile. It also writes nothing if this
// version of the program cannot plan the run, because a newer operator may be able to.
func (c *cluster) announce(ctx context.Context, streams Streams, read loaded, options runOptions) {
	inFiles := profilesOf(read.objects, read.benchmark.Namespace)
	resolved, problems := plan.Resolve(&read.benchmark.Spec.Run, func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		if engine, found := inFiles(ref); found {
			return engine, true
		}
		return c.profile(ctx, ref)
	})
	if len(problems) > 0 {
		return
	}
	read.resolved = resolved
	if read.plan, problems = plan.Make(resolved, read.seed, plan.InCluster(plan.Cluster{Namespace: c.namespace, PriorityClass: plan.OperatorPriorityClass})); len(problems) > 0 {
		return
	}
	announce(streams, read, options.price, options.repeat)
}

// profile returns the workload of a profile in the cluster, or false if the profile does not exist or the user is not
// allowed to read it.
func (c *cluster) profile(ctx context.Context, ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
	if ref.Kind == v1alpha1.ClusterWorkloadProfileKind {
		found, err := c.client.Resource(clusterProfileResource).Get(ctx, ref.Name, metav1.GetOptions{})
		profile := &v1alpha1.ClusterWorkloadProfile{}
		if err != nil || decode(found, profile) != nil {
			return v1alpha1.Engine{}, false
		}
		return profile.Spec.Engine, true
	}
	profile := &v1alpha1.WorkloadProfile{}
	if err := c.get(ctx, profileResource, ref.Name, profile); err != nil {
		return v1alpha1.Engine{}, false
	}
	return profile.Spec.Engine, true
}

// apply applies an object from a file. It first removes metadata that the file contains if kubectl get wrote it: the
// managed fields; the UID and the resource version, which may be outdated; and the last request for a run, which would
// conflict with a newer request.
func (c *cluster) apply(ctx context.Context, streams Streams, object *admission.Object, force bool) error {
	written := &unstructured.Unstructured{Object: object.Written}
	for _, field := range []string{"uid", "resourceVersion", "managedFields"} {
		unstructured.RemoveNestedField(written.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(written.Object, "metadata", "annotations", v1alpha1.AnnotationRequestedAt)
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
		return fmt.Errorf("apply %s %s: another field manager has set other values: %w; use --force-conflicts to overwrite them", written.GetKind(), written.GetName(), err)
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

// ask requests a run of the applied specification, unless such a run is live or the operator starts one automatically.
// The operator does so if spec.trigger starts runs on changes and spec.run differs from the last run. ask returns a
// function that finds the name of the run in the status. A live run with an older version of a profile does not count
// as a run of the applied specification.
func (c *cluster) ask(ctx context.Context, streams Streams, name string, before *v1alpha1.StorageBenchmark, existed bool) (func(*v1alpha1.StorageBenchmarkStatus) string, error) {
	after := &v1alpha1.StorageBenchmark{}
	if err := c.get(ctx, benchmarkResource, name, after); err != nil {
		return nil, err
	}
	hash := plan.RunHash(&after.Spec.Run)
	var older []string // UIDs of runs that started before this request and do not satisfy it
	if before.Status.LastRun != nil {
		older = append(older, before.Status.LastRun.UID)
	}
	outdated := c.profilesChanged(ctx, after)
	if outdated {
		older = append(older, after.Status.ActiveRun.UID)
	}
	// chosen returns the name of the run that executes the applied specification, or "" if there is none yet. If the
	// run was short, it may already have ended. The status then lists it as the last run, not as the active run.
	chosen := func(status *v1alpha1.StorageBenchmarkStatus) string {
		switch {
		case activeRunOf(status) != "" && status.ActiveRun.Hash == hash && !slices.Contains(older, status.ActiveRun.UID):
			return status.ActiveRun.Name
		case status.LastRun != nil && status.LastRun.Hash == hash && !slices.Contains(older, status.LastRun.UID):
			return status.LastRun.Name
		}
		return ""
	}
	ran := after.Status.LastRun != nil && after.Status.LastRun.Hash == hash
	switch active := after.Status.ActiveRun; {
	case outdated:
		// Request a run below, because the operator does not start a run when only a profile changes.
	case active != nil && active.Hash == hash:
		if existed && active.UID != "" {
			_, _ = fmt.Fprintf(streams.Err, "run %s of the same specification is already running\n", active.Name)
		}
		return chosen, nil
	case after.Spec.Trigger.StartsOnChange() && (!existed || !ran):
		return chosen, nil
	}
	if err := c.request(ctx, name); err != nil {
		return nil, err
	}
	why := "this specification was run before: requesting another run"
	switch {
	case outdated:
		why = fmt.Sprintf("a profile has changed since run %s was created: requesting another run", after.Status.ActiveRun.Name)
	case !ran:
		why = "spec.trigger does not start a run when spec.run changes: requesting a run"
	}
	_, _ = fmt.Fprintln(streams.Err, why)
	return chosen, nil
}

// profilesChanged reports whether a live run of the benchmark's specification uses a different version of a profile
// than the cluster has. It returns false if it cannot compare them, for example because the user is not allowed to read
// the profiles.
func (c *cluster) profilesChanged(ctx context.Context, benchmark *v1alpha1.StorageBenchmark) bool {
	name, run := activeRunOf(&benchmark.Status), &v1alpha1.BenchmarkRun{}
	if name == "" || c.get(ctx, runResource, name, run) != nil || run.Spec.Hash != plan.RunHash(&benchmark.Spec.Run) {
		return false
	}
	resolved, problems := plan.Resolve(&benchmark.Spec.Run, func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		return c.profile(ctx, ref)
	})
	return len(problems) == 0 && len(compare.WorkloadDifferences(&run.Spec.Run, resolved)) > 0
}

// request requests another run of a benchmark through an annotation.
func (c *cluster) request(ctx context.Context, name string) error {
	at := time.Now().UTC().Format(time.RFC3339Nano)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationRequestedAt: at}}})
	if err != nil {
		return fmt.Errorf("request a run: %w", err)
	}
	if _, err := c.client.Resource(benchmarkResource).Namespace(c.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("request a run: %w", err)
	}
	return nil
}
