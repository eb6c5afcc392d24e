package storagebenchmark

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// turnEvents returns events about changes that do not result from the action: the start and the end of a suspension,
// and the resolution of a problem. They depend only on the old and the new status, so each event is sent once.
func turnEvents(obs observation, status *v1alpha1.StorageBenchmarkStatus) []benchmarkEvent {
	before := &obs.benchmark.Status
	var all []benchmarkEvent
	switch was, is := before.Stage == v1alpha1.StageSuspended, status.Stage == v1alpha1.StageSuspended; {
	case is && !was:
		all = append(all, benchmarkEvent{corev1.EventTypeNormal, v1alpha1.EventSuspended, actionSuspend, "spec.suspend is true: no runs are started", nil})
	case was && !suspended(obs.benchmark):
		all = append(all, benchmarkEvent{corev1.EventTypeNormal, v1alpha1.EventResumed, actionSuspend, "spec.suspend is no longer true: due runs are started", nil})
	}
	if last, now := before.LastRun, status.LastRun; last != nil && failing(last.Reason) && now.Reason == v1alpha1.ReasonPassed {
		note := fmt.Sprintf("run %s passed; the previous run, %s, was %s", now.Name, last.Name, last.Reason)
		if now.UID == last.UID {
			note = fmt.Sprintf("run %s, previously %s, passes the current objectives and comparison", now.Name, last.Reason)
		}
		all = append(all, benchmarkEvent{corev1.EventTypeNormal, v1alpha1.EventRecovered, actionJudge, note, nil})
	}
	if was := find(before.Conditions, v1alpha1.ConditionRegressed); was != nil && isTrue(before.Conditions, was.Type) {
		if is := find(status.Conditions, was.Type); is != nil && is.Status == metav1.ConditionFalse {
			all = append(all, benchmarkEvent{corev1.EventTypeNormal, v1alpha1.EventRegressionEnded, actionJudge, is.Message, nil})
		}
	}
	return all
}

// failing reports whether the reason of a verdict indicates a failure. A missing verdict is not a failure.
func failing(reason string) bool {
	return reason != v1alpha1.ReasonPassed && reason != v1alpha1.ReasonNotJudged
}
