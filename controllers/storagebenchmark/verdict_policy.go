package storagebenchmark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/trend"
)

// policy holds the criteria for the verdict on a run, in addition to success and validity.
type policy struct {
	objectives []v1alpha1.Objective
	regression *v1alpha1.RegressionPolicy
}

func policyOf(benchmark *v1alpha1.StorageBenchmark) policy {
	return policy{benchmark.Spec.Objectives, benchmark.Spec.Regression}
}

// policyFor returns the policy that applies to a run. For a run of an earlier spec.run, it contains the objectives
// that the run was created with, because the current ones may name phases that the run did not have.
func policyFor(obs observation, run *v1alpha1.BenchmarkRun) policy {
	by := policyOf(obs.benchmark)
	if run.Spec.Hash != obs.hash {
		by.objectives = run.Spec.Objectives
	}
	return by
}

// hash identifies a policy. It returns "" if there is no policy.
func (p policy) hash() string {
	if len(p.objectives) == 0 && p.regression == nil {
		return ""
	}
	return digest(p.objectives) + digest(p.regression)
}

const digestLength = 8

func digest(of any) string {
	encoded, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:digestLength/2])
}

// comparesAs reports whether this policy compares runs in the same way as the policy with the given hash.
func (p policy) comparesAs(hash string) bool {
	return len(hash) == 2*digestLength && hash[digestLength:] == digest(p.regression)
}

// storedRuns returns the ended runs that are in the cache, as input for the comparison of runs.
func storedRuns(obs observation) []trend.Run {
	var all []trend.Run
	for i := range obs.runs {
		if ended(&obs.runs[i]) {
			all = append(all, trend.RunOf(&obs.runs[i]))
		}
	}
	return all
}

// review describes the newest evaluated run. due is true if it was evaluated by a policy other than the current one.
type review struct {
	due bool
	// run is the complete run, read from the API server, or nil if the run no longer exists.
	run *v1alpha1.BenchmarkRun
}

// outdated reports whether the verdict on the current spec.run is based on a policy other than the current one.
func outdated(benchmark *v1alpha1.StorageBenchmark, hash string) bool {
	return judged(&benchmark.Status, hash) && benchmark.Status.LastRun.PolicyHash != policyOf(benchmark).hash()
}

// review returns the run that must be evaluated again, if any. It reads the run from the API server, because the cache
// does not contain the results.
func (r *reconciler) review(ctx context.Context, benchmark *v1alpha1.StorageBenchmark, hash string) (review, error) {
	if !outdated(benchmark, hash) {
		return review{}, nil
	}
	last := benchmark.Status.LastRun
	run := &v1alpha1.BenchmarkRun{}
	err := r.live.Get(ctx, types.NamespacedName{Namespace: benchmark.Namespace, Name: last.Name}, run)
	switch {
	case apierrors.IsNotFound(err) || err == nil && string(run.UID) != last.UID:
		return review{due: true}, nil
	case err != nil:
		return review{}, fmt.Errorf("read run %s to evaluate it again: %w", last.Name, err)
	}
	return review{due: true, run: run}, nil
}

// revise evaluates the newest evaluated run again if the policy has changed. It does not start a run.
func revise(status *v1alpha1.StorageBenchmarkStatus, obs observation, act action) {
	switch {
	case !obs.review.due || act.do == judge || act.do == miss:
		return
	case obs.review.run != nil:
		keep(status, verdictOn(obs, obs.review.run), obs.review.run)
		return
	}
	by := policyOf(obs.benchmark)
	last := status.LastRun
	last.PolicyHash = by.hash()
	status.Objectives, status.Regression = nil, nil
	if !last.ResultsValid() {
		// The results are invalid, so the verdict is the same under any policy.
		return
	}
	if len(by.objectives) == 0 && by.regression == nil {
		last.Reason, last.Message = v1alpha1.ReasonPassed, fmt.Sprintf("run %s is complete and valid", last.Name)
		return
	}
	last.Reason = v1alpha1.ReasonNotJudged
	last.Message = v1alpha1.Truncate(fmt.Sprintf("spec.objectives or spec.regression changed, but run %s was deleted and cannot be evaluated again; "+
		"request another run with spec.trigger.manual or the annotation %s", last.Name, v1alpha1.AnnotationRequestedAt), maxMessage)
}

// revisedEvent returns an event if a verdict has changed.
func revisedEvent(obs observation, act action, status *v1alpha1.StorageBenchmarkStatus) []benchmarkEvent {
	before := obs.benchmark.Status.LastRun
	if !obs.review.due || obs.review.run == nil || act.do == judge || act.do == miss || before.Reason == status.LastRun.Reason {
		return nil
	}
	return []benchmarkEvent{judgedEvent(status.LastRun, obs.review.run)}
}
