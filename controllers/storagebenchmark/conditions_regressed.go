package storagebenchmark

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// regressedCondition returns the Regressed condition, which depends only on the comparison of the newest evaluated run
// with earlier runs. It returns nil if the benchmark does not request a comparison.
func regressedCondition(status *v1alpha1.StorageBenchmarkStatus, obs observation) *claim {
	found := status.Regression
	switch {
	case obs.benchmark.Spec.Regression == nil:
		return nil
	case found == nil || !judged(status, obs.hash):
		return &claim{metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, "no run with the current spec.run has a verdict to compare"}
	}
	switch found.Verdict {
	case v1alpha1.RegressionRegressed:
		return &claim{metav1.ConditionTrue, v1alpha1.ReasonRegressed, found.Message}
	case v1alpha1.RegressionImproved:
		return &claim{metav1.ConditionFalse, v1alpha1.ReasonImproved, found.Message}
	case v1alpha1.RegressionNoChange:
		return &claim{metav1.ConditionFalse, v1alpha1.ReasonNoChange, found.Message}
	case v1alpha1.RegressionUnknown:
	}
	reason := v1alpha1.ReasonTooFewRuns
	compared := func(f v1alpha1.FigureChange) bool { return f.Verdict != v1alpha1.RegressionUnknown }
	if len(found.Figures) == 0 || slices.ContainsFunc(found.Figures, compared) {
		reason = v1alpha1.ReasonNotComparable
	}
	return &claim{metav1.ConditionUnknown, reason, found.Message}
}
