package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/spelling"
)

const (
	// trialDeadline is the maximum duration of a trial, which is a run on new volumes. It limits the cost of a forgotten
	// trial.
	trialDeadline = 6 * time.Hour
	// trialStart is the time allowed for a trial's clients to become ready. It equals the default startTimeout.
	trialStart = 10 * time.Minute
	// trialGrace is the minimum time for which Kubernetes keeps a trial after the end of its runs if this program dies
	// before it removes the trial. During this time, the results can be read.
	trialGrace = time.Hour
	// removeTimeout limits the wait for the removal of a trial's objects.
	removeTimeout = 3 * time.Minute
)

// trialHint is the last line of the live view of a run on new volumes.
const trialHint = "Ctrl-C stops the run and removes everything"

// Kubernetes resources that a run on new volumes uses.
var (
	jobResource   = batchv1.SchemeGroupVersion.WithResource("jobs")
	claimResource = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	classResource = storagev1.SchemeGroupVersion.WithResource("storageclasses")
)

// runOnClass measures new volumes of a storage class: it creates a benchmark, follows its run, shows the result and
// removes all objects of the benchmark.
//
// The benchmark is owned by a Job without pods, which Kubernetes deletes after ttlSecondsAfterFinished, and all other
// objects are owned by the benchmark. So all of them are removed even if this program dies.
func runOnClass(ctx context.Context, streams Streams, options runOptions, flags *clusterFlags) error {
	trial := first{initOptions: options.class, inFile: true, deadline: v1alpha1.DurationOf(trialDeadline)}
	trial.output = "yaml"
	if err := trial.check(); err != nil {
		return err
	}
	cluster, err := flags.connect()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	context.AfterFunc(ctx, stop) // stop catching signals, so that a second signal ends the program at once
	// Catch SIGPIPE, so that the program removes the trial even if the reader of standard output exits.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	retains, err := cluster.checkClass(ctx, trial.class)
	if err != nil {
		return err
	}
	if trial.profile != "" {
		if err := cluster.chooseProfile(ctx, streams, &trial, trial.profile); err != nil {
			return err
		}
	}
	trial.name = trialName(trial.class)
	read, err := trial.load()
	if err != nil {
		return err
	}
	announce(streams, read, options.price, options.repeat)
	if options.output == "text" && !options.verbose && len(options.save) == 0 {
		_, _ = fmt.Fprintln(streams.Err, "the result is not kept in the cluster: use -v to show the full result at the end, or --save result.json to keep it for `report -v`")
	}
	if retains {
		_, _ = fmt.Fprintf(streams.Err, "StorageClass %s has reclaimPolicy Retain: its volumes remain after the run and must be deleted manually\n", trial.class)
	}
	if err := cluster.createTrial(ctx, streams, read, options.repeat); err != nil {
		return err
	}
	var runs repetitions
	current, err := cluster.followTrial(ctx, streams, &runs, trial.name, options)
	err = cluster.endTrial(ctx, streams, &runs, trial.name, current, options, err)
	if retains {
		_, _ = fmt.Fprintf(streams.Err, "The volumes of the run remain, because StorageClass %s retains them. List those to delete: kubectl get persistentvolumes | grep %s/%s-\n", trial.class, cluster.namespace, trial.name)
	}
	return err
}

// endTrial removes the trial's objects and returns the error with which the program exits. current is the run that was
// followed last, and err is the error from following it. After an interruption, endTrial first stops the run and shows
// the results of this run and the earlier ones.
func (c *cluster) endTrial(
	ctx context.Context, streams Streams, runs *repetitions, name, current string, options runOptions, err error,
) error {
	interrupted := interrupted(ctx, err)
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer done()
	if interrupted {
		_, _ = fmt.Fprintln(streams.Err, "\nStopping the run and removing the benchmark, its runs and its claims. Press Ctrl-C again to exit now; the cluster then removes them later.")
		if problem := c.showSoFar(ctx, streams, runs, current, options); problem != nil {
			_, _ = fmt.Fprintf(streams.Err, "error: %v\n", problem)
		}
		err = exit(exitLeft)
	}
	if problem := c.removeTrial(ctx, streams, name); problem != nil {
		_, _ = fmt.Fprintf(streams.Err, "error: %v\n", problem)
		if err == nil {
			err = exit(report.ExitFailed)
		}
	}
	return err
}

// trialName returns a unique name for a benchmark.
func trialName(class string) string {
	suffix := "-" + strings.ToLower(rand.Text()[:6])
	name := nameOf("try-" + class)
	return strings.TrimRight(name[:min(len(name), v1alpha1.MaxBenchmarkNameLength-len(suffix))], "-") + suffix
}

// checkClass returns an error if the StorageClass does not exist, and reports whether it retains volumes. If the user
// is not allowed to read StorageClasses, checkClass checks nothing. The claims then stay pending if the class does not
// exist.
func (c *cluster) checkClass(ctx context.Context, name string) (retains bool, err error) {
	classes := c.client.Resource(classResource)
	found, err := classes.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return false, nil
	case apierrors.IsNotFound(err):
		missing := fmt.Errorf("--storage-class %q: the cluster has no such StorageClass", name)
		all, err := classes.List(ctx, metav1.ListOptions{})
		if err != nil || len(all.Items) == 0 {
			return false, missing
		}
		var names []string
		for i := range all.Items {
			names = append(names, all.Items[i].GetName())
		}
		slices.Sort(names)
		if i := spelling.Nearest(name, names, 4); i >= 0 {
			return false, fmt.Errorf("%w; did you mean %s? Existing: %s", missing, names[i], measure.FormatList(names, 10))
		}
		return false, fmt.Errorf("%w; existing: %s", missing, measure.FormatList(names, 10))
	case err != nil:
		return false, fmt.Errorf("read StorageClass %s: %w", name, explained(err))
	}
	class := &storagev1.StorageClass{}
	if err := decode(found, class); err != nil {
		return false, err
	}
	return class.ReclaimPolicy != nil && *class.ReclaimPolicy == corev1.PersistentVolumeReclaimRetain, nil
}

// chooseProfile finds a profile in the namespace, in the cluster or in the library of this program, in that order,
// and reduces its dataset if it does not fit into half of the volume.
func (c *cluster) chooseProfile(ctx context.Context, streams Streams, trial *first, name string) error {
	spec, found := c.profile(ctx, v1alpha1.ProfileRef{Kind: v1alpha1.WorkloadProfileKind, Name: name})
	if !found {
		spec, found = c.profile(ctx, v1alpha1.ProfileRef{Kind: v1alpha1.ClusterWorkloadProfileKind, Name: name})
	}
	if !found {
		var profile library.Profile
		profile, found = library.Find(name)
		spec = profile.Spec.Engine
	}
	if !found {
		return fmt.Errorf("--profile %q: no such profile in namespace %s, in the cluster or in the library%s", name, c.namespace, nearestProfile(name))
	}
	trial.workload = fitted(&spec, trial.share())
	if whole, reduced := layoutBytes(&spec), layoutBytes(trial.workload); reduced < whole {
		_, _ = fmt.Fprintf(streams.Err, "the data of profile %s is reduced from %s to %s per client, to leave half of --size free. A dataset this small may fit into caches: use a larger --size to avoid this\n",
			name, measure.FormatBinaryBytes(whole), measure.FormatBinaryBytes(reduced))
	}
	return nil
}

// layoutBytes returns the total size of one client's files, or 0 if it is not known before a run.
func layoutBytes(spec *v1alpha1.Engine) uint64 {
	load := engines.Of(spec)
	if load.Kind == "" {
		return 0
	}
	made, err := load.Describe(&engine.Step{Purpose: v1alpha1.StepPrepare, Clients: 1, Processes: 1})
	if err != nil {
		return 0
	}
	return made.ClientBytes
}

// fitted returns the workload with a dataset that fits into share, in bytes per client. It returns the workload
// unchanged if its dataset already fits or cannot be resized.
func fitted(spec *v1alpha1.Engine, share int64) *v1alpha1.Engine {
	if layoutBytes(spec) <= uint64(share) { //nolint:gosec // It is a size.
		return spec
	}
	resized := spec.DeepCopy()
	if engines.Resize(nil, resized, powerOfTwo(share)) != nil {
		return spec
	}
	return resized
}

// nearestProfile suggests the library profile with the most similar name, or
// else the command that lists the library.
func nearestProfile(name string) string {
	names := libraryNames()
	if i := spelling.Nearest(name, names, 4); i >= 0 {
		return "; did you mean " + names[i] + "?"
	}
	// Ignore dashes, so that fio's randread matches rand-read-4k.
	best := ""
	for _, known := range names {
		if strings.HasPrefix(strings.ReplaceAll(known, "-", ""), name) && (best == "" || len(known) < len(best)) {
			best = known
		}
	}
	if best != "" && name != "" {
		return "; did you mean " + best + "?"
	}
	return "; list the profiles of the library with `kubectl storagebench profiles`"
}

// load reads and plans a benchmark on new volumes, and checks that its data fits on them.
func (f *first) load() (loaded, error) {
	written := &source{name: f.name, text: []byte(f.yaml())}
	all, err := understand([]*source{written}, loadOptions{seed: 1})
	switch {
	case err != nil:
		return loaded{}, err
	case len(written.faults) > 0 && f.workload != nil:
		return loaded{}, fmt.Errorf("the profile cannot run on these volumes; create a file with `kubectl storagebench init` and change it:\n%s", indent(written.faults.Error()))
	case len(written.faults) > 0:
		return loaded{}, fmt.Errorf("internal error: the generated benchmark is not valid: %w", written.faults)
	}
	return all[0], f.fits(&all[0])
}

// createTrial creates a benchmark on new volumes, and the Job that owns it.
func (c *cluster) createTrial(ctx context.Context, streams Streams, read loaded, runs int) error {
	name := read.benchmark.Name
	benchmark := &unstructured.Unstructured{Object: read.objects[0].Written}
	timer, err := c.createTimer(ctx, name, time.Duration(runs)*(trialStart+trialDeadline)+trialGrace)
	switch {
	case ctx.Err() != nil:
		return err
	case apierrors.IsNotFound(err):
		return explained(err)
	case err != nil:
		_, _ = fmt.Fprintf(streams.Err, "cannot create the Job that would remove the benchmark if this program dies (%v). Only if it dies, run: kubectl delete storagebenchmark %s -n %s\n",
			err, name, c.namespace)
	default:
		benchmark.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: timer.GetName(), UID: timer.GetUID()}})
	}
	_, err = c.client.Resource(benchmarkResource).Namespace(c.namespace).Create(ctx, benchmark, metav1.CreateOptions{FieldManager: fieldManager})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("create StorageBenchmark %s: %w", name, explained(err))
	// Delete the benchmark, because the API server may have created it although the request failed. If a Job owns the
	// benchmark, delete the Job instead, which removes both.
	created := benchmarkResource
	if timer != nil {
		created = jobResource
	}
	background := metav1.DeletePropagationBackground
	problem := c.client.Resource(created).Namespace(c.namespace).
		Delete(context.WithoutCancel(ctx), name, metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(problem) {
		return err
	}
	return errors.Join(err, problem)
}

// followTrial follows the runs of a benchmark on new volumes and shows their result. Like followRuns, it returns the
// name of the run that it followed last, or the name of the benchmark if an error occurred while waiting for a run.
func (c *cluster) followTrial(
	ctx context.Context, streams Streams, runs *repetitions, name string, options runOptions,
) (run string, err error) {
	run, err = c.awaitRun(ctx, streams, name, func(status *v1alpha1.StorageBenchmarkStatus) string {
		if status.LastRun != nil {
			return status.LastRun.Name
		}
		return activeRunOf(status)
	})
	if err != nil {
		return name, err
	}
	return c.followRuns(ctx, streams, runs, name, run, trialHint, options)
}

// createTimer creates a Job without pods. The Job completes at once, so after the given time Kubernetes deletes it
// together with everything that it owns.
func (c *cluster) createTimer(ctx context.Context, name string, after time.Duration) (*unstructured.Unstructured, error) {
	never, yes := false, true
	timer := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": fieldManager}},
		Spec: batchv1.JobSpec{
			Completions: new(int32), Parallelism: new(int32), TTLSecondsAfterFinished: new(int32(after.Seconds())),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                corev1.RestartPolicyNever,
				AutomountServiceAccountToken: &never,
				SecurityContext:              &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
				Containers: []corev1.Container{{Name: "none", Image: "storagebench.invalid/none", SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &never, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
			}},
		},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(timer)
	if err != nil {
		return nil, fmt.Errorf("write Job %s: %w", name, err)
	}
	return c.client.Resource(jobResource).Namespace(c.namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldManager: fieldManager})
}

// showSoFar adds the results of a run to those of the earlier runs, and shows them all. It stops the run if the run is
// live. name is the name of the run, or the name of a benchmark to show its newest run.
func (c *cluster) showSoFar(
	ctx context.Context, streams Streams, runs *repetitions, name string, options runOptions,
) error {
	var problem error
	// If there is no run, there is nothing to stop.
	if run, _, err := c.findRun(ctx, name); err == nil && !runs.has(run) {
		var document report.Document
		if document, problem = c.soFar(ctx, streams, run); len(document.Phases) > 0 {
			runs.add(streams, options, document, report.ExitFailed)
		}
	}
	if len(runs.documents) == 0 {
		return problem
	}
	return errors.Join(problem, runs.show(streams, options))
}

// soFar returns what a run has measured. It stops the run if it is live.
func (c *cluster) soFar(ctx context.Context, streams Streams, run *v1alpha1.BenchmarkRun) (report.Document, error) {
	if run.Status.EndTime != nil {
		return report.NewDocument(run, "").With(c.newestSeries(ctx, streams, run, nil)), nil
	}
	if err := c.deleteRun(ctx, run); err != nil {
		return report.Document{}, err
	}
	return c.awaitEnd(ctx, streams, run)
}

// removeTrial deletes the benchmark, its timer and its runs, and waits until the operator and the cluster have removed
// the runs and the claims.
func (c *cluster) removeTrial(ctx context.Context, streams Streams, name string) error {
	background := metav1.DeletePropagationBackground
	remove := func(resource schema.GroupVersionResource, name string) error {
		err := c.client.Resource(resource).Namespace(c.namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove %s %s: %w", resource.Resource, name, err)
		}
		return nil
	}
	err := errors.Join(remove(benchmarkResource, name), remove(jobResource, name))
	for err == nil {
		var left []string
		if left, err = c.remains(ctx, name, func(run string) error { return remove(runResource, run) }); err != nil {
			break
		}
		if len(left) == 0 {
			_, _ = fmt.Fprintf(streams.Err, "removed StorageBenchmark %s, its runs and its claims\n", name)
			return nil
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("not removed yet: %s; the cluster will remove them; to check, run: kubectl get benchmarkruns,persistentvolumeclaims -n %s -l %s=%s",
				measure.FormatList(left, 5), c.namespace, v1alpha1.LabelBenchmark, name)
		}
	}
	return fmt.Errorf("%w; remove the rest with kubectl delete storagebenchmark,job %s -n %s", err, name, c.namespace)
}

// remains lists the runs and claims of a benchmark that still exist. It calls remove for each run that is not being
// deleted.
func (c *cluster) remains(ctx context.Context, name string, remove func(run string) error) ([]string, error) {
	selector := v1alpha1.LabelBenchmark + "=" + name
	runs, err := list[metav1.PartialObjectMetadata](ctx, c, runResource, selector)
	if err != nil {
		return nil, err
	}
	var left []string
	for i := range runs {
		left = append(left, "BenchmarkRun "+runs[i].Name)
		if runs[i].DeletionTimestamp == nil {
			if err := remove(runs[i].Name); err != nil {
				return nil, err
			}
		}
	}
	claims, err := list[metav1.PartialObjectMetadata](ctx, c, claimResource, selector)
	if apierrors.IsForbidden(err) {
		return left, nil // the user lacks permission to list claims; the operator removes them with their run
	}
	for i := range claims {
		left = append(left, "PersistentVolumeClaim "+claims[i].Name)
	}
	return left, err
}
