package storagebenchmark

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
)

// ignoreUpdates is an annotation that makes Argo CD apply its ignoreResourceUpdates settings to runs. Without the
// annotation, Argo CD applies these settings only to resources that it tracks. It does not track runs, so it would
// process their status changes every few seconds (config/gitops/argocd/argocd-cm.yaml).
const ignoreUpdates = "argocd.argoproj.io/ignore-resource-updates"

// apply carries out a decision, but does not write the status.
func (r *reconciler) apply(ctx context.Context, obs observation, act action) outcome {
	var out outcome
	switch act.do {
	case create:
		out = r.create(ctx, obs)
	case replace:
		out = r.stop(ctx, act.run)
	case leave, watch, hold, await, refuse, yield, intend, adopt, judge, miss:
	}
	if err := r.prune(ctx, act.prune); err != nil {
		out.err = errors.Join(out.err, err)
	}
	return out
}

func (r *reconciler) create(ctx context.Context, obs observation) outcome {
	run, err := newRun(obs, r.scheme)
	if err != nil {
		return outcome{err: err}
	}
	ctrl.LoggerFrom(ctx).Info("Creating run", "run", klog.KObj(run))
	err = r.client.Create(ctx, run)
	switch {
	case err == nil:
		return outcome{created: run}
	case apierrors.IsAlreadyExists(err):
		// A run of that name already exists. It may be this very run, created before a crash. The next reconcile checks
		// whether it is.
		return outcome{again: true}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// The namespace is being deleted, and the benchmark with it.
		return outcome{}
	}
	return outcome{refused: err.Error(), err: fmt.Errorf("create run %s: %w", klog.KObj(run), err)}
}

// newRun returns the run that status.activeRun names, with the specification and the plan of the candidate. It is
// deterministic: the same observation yields a byte-identical run.
func newRun(obs observation, scheme *runtime.Scheme) (*v1alpha1.BenchmarkRun, error) {
	benchmark := obs.benchmark
	recorded := benchmark.Status.ActiveRun
	seed := identityOf(benchmark, &benchmark.Status, recorded.Hash).seed
	planned, problems := plan.Make(obs.candidate.run, seed, plan.WithCatalog(obs.candidate.catalog), plan.InCluster(obs.candidate.cluster))
	if len(problems) > 0 {
		return nil, fmt.Errorf("plan run %s: %w", recorded.Name, problems.ToAggregate())
	}
	run := record.New(record.Identity{
		Name:      recorded.Name,
		Namespace: benchmark.Namespace,
		Benchmark: v1alpha1.BenchmarkReference{Name: benchmark.Name, UID: string(benchmark.UID)},
		Hash:      recorded.Hash,
		Seed:      seed,
		// Use the current objectives, because the objectives at the time of the request were not recorded.
		Objectives: benchmark.Spec.Objectives,
		Headline:   benchmark.Spec.Headline,
	}, obs.candidate.run, planned)
	run.Labels = map[string]string{v1alpha1.LabelBenchmark: benchmark.Name}
	run.Annotations = map[string]string{ignoreUpdates: "true"}
	if benchmark.Spec.Queue != "" {
		run.Labels[v1alpha1.LabelQueue] = benchmark.Spec.Queue
	}
	for _, label := range []string{v1alpha1.LabelKueueQueue, v1alpha1.LabelKueuePriority} {
		if value := benchmark.Labels[label]; value != "" {
			run.Labels[label] = value
		}
	}
	if err := controllerutil.SetControllerReference(benchmark, run, scheme); err != nil {
		return nil, fmt.Errorf("set the owner of run %s: %w", run.Name, err)
	}
	return run, nil
}

func (r *reconciler) prune(ctx context.Context, runs []*v1alpha1.BenchmarkRun) error {
	var failures []error
	for _, run := range runs {
		ctrl.LoggerFrom(ctx).Info("Deleting run beyond the history limit", "run", klog.KObj(run))
		err := r.client.Delete(ctx, run, client.Preconditions{UID: &run.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failures = append(failures, fmt.Errorf("delete run %s: %w", klog.KObj(run), err))
		}
	}
	return errors.Join(failures...)
}
