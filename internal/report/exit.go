package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Exit codes of the CLI.
const (
	// ExitMet: the run is complete and valid, and met its objectives.
	ExitMet = 0
	// ExitFailed: it could not run, or not to its end.
	ExitFailed = 1
	// ExitMissed: an objective was missed, or there is a regression.
	ExitMissed = 2
	// ExitInvalid: the result does not measure what was asked for.
	ExitInvalid = 3
)

// ExitCode is what a run means to a pipeline.
func ExitCode(d Document) int {
	is := func(kind string, status metav1.ConditionStatus) bool {
		found := condition(d, kind)
		return found != nil && found.Status == status
	}
	switch {
	case !is(v1alpha1.ConditionComplete, metav1.ConditionTrue):
		return ExitFailed
	case !is(v1alpha1.ConditionValid, metav1.ConditionTrue):
		return ExitInvalid
	case !is(v1alpha1.ConditionObjectivesMet, metav1.ConditionTrue):
		// A figure that is absent cannot have met an objective.
		return ExitMissed
	}
	return ExitMet
}
