package report

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Exit codes of the CLI.
const (
	// ExitMet means that the run is complete and valid and met its objectives.
	ExitMet = 0
	// ExitFailed means that the run could not start or did not complete.
	ExitFailed = 1
	// ExitMissed means that the run missed an objective or regressed.
	ExitMissed = 2
	// ExitInvalid means that the result does not measure what was requested.
	ExitInvalid = 3
)

// ExitCode returns the exit code for a run.
func ExitCode(d Document) int {
	is := func(kind string, status metav1.ConditionStatus) bool {
		found := meta.FindStatusCondition(d.Conditions, kind)
		return found != nil && found.Status == status
	}
	switch {
	case !is(v1alpha1.ConditionComplete, metav1.ConditionTrue):
		return ExitFailed
	case !is(v1alpha1.ConditionValid, metav1.ConditionTrue):
		return ExitInvalid
	case !is(v1alpha1.ConditionObjectivesMet, metav1.ConditionTrue):
		// An objective without a figure counts as missed.
		return ExitMissed
	}
	return ExitMet
}
