package storagebenchmark

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// turnEvents are about what was otherwise before, whatever was done: a pause begins or ends, and what was wrong is right
// again. They follow from the status before and after, so that they are told once.
func turnEvents(obs observation, status *v1alpha1.StorageBenchmarkStatus) []news {
	before := &obs.benchmark.Status
	var all []news
	switch was, is := before.Stage == v1alpha1.StageSuspended, status.Stage == v1alpha1.StageSuspended; {
	case is && !was:
		all = append(all, news{corev1.EventTypeNormal, v1alpha1.EventSuspended, actionSuspend, "spec.suspend is true: no run is started", nil})
	case was && !suspended(obs.benchmark):
		all = append(all, news{corev1.EventTypeNormal, v1alpha1.EventResumed, actionSuspend, "spec.suspend is not true any more: runs that are due are started", nil})
	}
	if last, now := before.LastRun, status.LastRun; last != nil && failing(last.Reason) && now.Reason == v1alpha1.ReasonPassed {
		note := fmt.Sprintf("run %s passed; %s, before it, was %s", now.Name, last.Name, last.Reason)
		if now.UID == last.UID {
			note = fmt.Sprintf("run %s, which was %s, passes by the objectives and the comparison of today", now.Name, last.Reason)
		}
		all = append(all, news{corev1.EventTypeNormal, v1alpha1.EventRecovered, actionJudge, note, nil})
	}
	if was := find(before.Conditions, v1alpha1.ConditionRegressed); was != nil && isTrue(before.Conditions, was.Type) {
		if is := find(status.Conditions, was.Type); is != nil && is.Status == metav1.ConditionFalse {
			all = append(all, news{corev1.EventTypeNormal, v1alpha1.EventRegressionEnded, actionJudge, is.Message, nil})
		}
	}
	return all
}

// failing reports whether a verdict is a bad one; a run that is not judged is neither good nor bad.
func failing(reason string) bool {
	return reason != v1alpha1.ReasonPassed && reason != v1alpha1.ReasonNotJudged
}
