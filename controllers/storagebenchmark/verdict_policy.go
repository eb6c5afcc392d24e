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

// policy is what runs are judged by beside what is right or wrong with them themselves.
type policy struct {
	objectives []v1alpha1.Objective
	regression *v1alpha1.RegressionPolicy
}

func policyOf(benchmark *v1alpha1.StorageBenchmark) policy {
	return policy{benchmark.Spec.Objectives, benchmark.Spec.Regression}
}

// policyFor is the one that holds for a run: of one of an earlier spec.run the objectives that it was made with,
// since those of today may name phases that it had not.
func policyFor(obs observation, run *v1alpha1.BenchmarkRun) policy {
	by := policyOf(obs.benchmark)
	if run.Spec.Hash != obs.hash {
		by.objectives = run.Spec.Objectives
	}
	return by
}

// hash tells two policies apart; empty where there is none.
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

// comparesAs reports whether runs are compared by this policy as by the one of a hash.
func (p policy) comparesAs(hash string) bool {
	return len(hash) == 2*digestLength && hash[digestLength:] == digest(p.regression)
}

// storedRuns are those that are over, as the cache has them.
func storedRuns(obs observation) []trend.Run {
	var all []trend.Run
	for i := range obs.runs {
		if ended(&obs.runs[i]) {
			all = append(all, trend.RunOf(&obs.runs[i]))
		}
	}
	return all
}

// review is the newest judged run where it was judged by another policy than that of today.
type review struct {
	due bool
	// run as the API server has it; nil where it is gone.
	run *v1alpha1.BenchmarkRun
}

// outdated reports whether the verdict on the present spec.run is by another policy.
func outdated(benchmark *v1alpha1.StorageBenchmark, hash string) bool {
	return judged(&benchmark.Status, hash) && benchmark.Status.LastRun.PolicyHash != policyOf(benchmark).hash()
}

// review reads the run that is to be judged again. The cache has no results of it.
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
		return review{}, fmt.Errorf("read run %s to judge it again: %w", last.Name, err)
	}
	return review{due: true, run: run}, nil
}

// revise judges the newest judged run by the policy of today, where that is another one. It starts nothing.
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
	if !byPolicy(last.Reason) {
		return
	}
	if len(by.objectives) == 0 && by.regression == nil {
		last.Reason, last.Message = v1alpha1.ReasonPassed, fmt.Sprintf("run %s is complete and valid", last.Name)
		return
	}
	last.Reason = v1alpha1.ReasonNotJudged
	last.Message = v1alpha1.Truncate(fmt.Sprintf("spec.objectives or spec.regression has changed, and run %s, which is to be judged by it, is gone; "+
		"ask for another with spec.trigger.manual or the annotation %s", last.Name, v1alpha1.AnnotationRequestedAt), maxMessage)
}

// byPolicy reports whether a verdict may be another by another policy: the run is complete and valid.
func byPolicy(reason string) bool {
	switch reason {
	case v1alpha1.ReasonPassed, v1alpha1.ReasonObjectiveMissed, v1alpha1.ReasonRegressed, v1alpha1.ReasonNotJudged:
		return true
	}
	return false
}

// revisedEvent tells that a verdict is another one than it was.
func revisedEvent(obs observation, act action, status *v1alpha1.StorageBenchmarkStatus) []news {
	before := obs.benchmark.Status.LastRun
	if !obs.review.due || obs.review.run == nil || act.do == judge || act.do == miss || before.Reason == status.LastRun.Reason {
		return nil
	}
	return []news{judgedEvent(status.LastRun, obs.review.run)}
}
