package storagebenchmark

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

// errStale means that the cache shows an older benchmark than the API server.
var errStale = errors.New("the cached benchmark is out of date")

// observe reads everything that a decision needs. It returns nil if the benchmark does not exist or is being deleted.
// There is then nothing to decide, because the runs are garbage-collected through their owner references.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName) (*observation, error) {
	benchmark := &v1alpha1.StorageBenchmark{}
	if err := r.client.Get(ctx, key, benchmark); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the benchmark: %w", err)
	}
	if !benchmark.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	obs := &observation{benchmark: benchmark, hash: plan.RunHash(&benchmark.Spec.Run), now: r.clock.Now()}
	runs := &v1alpha1.BenchmarkRunList{}
	if err := r.client.List(ctx, runs, client.InNamespace(key.Namespace), client.MatchingFields{indexOwner: string(benchmark.UID)}); err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	obs.runs = runs.Items
	var err error
	if obs.active, err = r.active(ctx, benchmark, obs.runs); err != nil {
		return nil, err
	}
	obs.times = timetableOf(benchmark, obs.now, obs.active.run != nil && toldToStop(obs.active.run))
	if obs.review, err = r.review(ctx, benchmark, obs.hash); err != nil {
		return nil, err
	}
	if obs.active.state == activeLive && replaces(*obs) && !toldToStop(obs.active.run) {
		// Check that the benchmark is up to date before stopping the live run, because the request for another run may have
		// been withdrawn.
		if err := r.proveFresh(ctx, benchmark); err != nil {
			return nil, err
		}
	}
	if mayCreate(*obs) {
		if obs.candidate, err = r.resolve(ctx, benchmark); err != nil {
			return nil, err
		}
		if obs.times.problem != nil {
			obs.candidate.problems = append(obs.candidate.problems, obs.times.problem)
		}
	}
	return obs, nil
}

// active determines the state of the run that the status names. A live run is taken from the cache. A run that seems
// to be missing may be too new for the cache, and a run that has ended may be trimmed in it, so both are read from
// the API server.
func (r *reconciler) active(ctx context.Context, benchmark *v1alpha1.StorageBenchmark, runs []v1alpha1.BenchmarkRun) (activeRun, error) {
	recorded := benchmark.Status.ActiveRun
	if recorded == nil {
		return activeOf(benchmark, nil), nil
	}
	for i := range runs {
		if runs[i].Name == recorded.Name {
			if found := activeOf(benchmark, &runs[i]); found.state == activeLive {
				return found, nil
			}
		}
	}
	run := &v1alpha1.BenchmarkRun{}
	err := r.live.Get(ctx, types.NamespacedName{Namespace: benchmark.Namespace, Name: recorded.Name}, run)
	switch {
	case apierrors.IsNotFound(err):
		run = nil
	case err != nil:
		return activeRun{}, fmt.Errorf("read run %s: %w", recorded.Name, err)
	}
	found := activeOf(benchmark, run)
	if found.state == activeIntended {
		return found, r.proveFresh(ctx, benchmark)
	}
	return found, nil
}

// proveFresh returns an error unless the given benchmark is the newest version. A stale benchmark may lack this
// operator's own writes. If such a write recorded a run that was deleted afterwards, the operator would create the run
// a second time.
func (r *reconciler) proveFresh(ctx context.Context, benchmark *v1alpha1.StorageBenchmark) error {
	newest := &v1alpha1.StorageBenchmark{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(benchmark), newest); err != nil {
		if apierrors.IsNotFound(err) {
			return errStale
		}
		return fmt.Errorf("read the benchmark again: %w", err)
	}
	if newest.ResourceVersion != benchmark.ResourceVersion {
		return errStale
	}
	return nil
}
