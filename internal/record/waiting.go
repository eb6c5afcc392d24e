package record

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Waiting sets the Waiting condition, which shows whether a run waits for its turn, for client capacity or for quota,
// and why. The condition can be absent from a run that needed no turn and never waited.
func Waiting(run *v1alpha1.BenchmarkRun, waits bool, reason, message string, now time.Time) {
	status := metav1.ConditionFalse
	switch {
	case !waits && run.Status.Stage == v1alpha1.StageQueued:
		run.Status.Stage, run.Status.Message = v1alpha1.StagePending, ""
	case waits:
		status = metav1.ConditionTrue
		run.Status.Stage = v1alpha1.StageQueued
		run.Status.Message = v1alpha1.Truncate(message, maxRunMessage)
	}
	set(run, v1alpha1.ConditionWaiting, status, reason, message, now)
}

// maxRunMessage is the API's limit for status.message.
const maxRunMessage = 2048
