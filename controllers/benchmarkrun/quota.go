package benchmarkrun

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/record"
)

// mayUseKueue returns a *cannotConduct for a run with a LocalQueue if the operator is not allowed to patch the run's
// pods. Without this permission, the operator could not end the pod group, which would keep its quota after a failure.
func (r *Reconciler) mayUseKueue(ctx context.Context, run *v1alpha1.BenchmarkRun) error {
	queue := objects.KueueQueue(run)
	if queue == "" || len(run.Status.Steps) > 0 {
		return nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: run.Namespace, Resource: "pods", Verb: "patch"}}}
	if err := r.client.Create(ctx, review); err != nil {
		return fmt.Errorf("check permission to patch pods: %w", err)
	}
	if !review.Status.Allowed {
		return &cannotConduct{v1alpha1.ReasonInvalidWorkload, fmt.Sprintf("the label %s is %q, but the operator was installed without Kueue support and "+
			"is not allowed to patch pods in this namespace: set kueue.enabled=true in the chart, or apply config/kueue, or remove the label",
			v1alpha1.LabelKueueQueue, queue)}
	}
	return nil
}

// quota handles clients whose pods wait for Kueue's quota, so that the wait does not count as a failed start. The time
// that a run's pods wait for quota does not count towards the startTimeout or, before the first step, the
// activeDeadline of the run. A step that needs one of these clients waits too. After the first step, the run's Waiting
// condition does not become True again, because its transition time records when the run was admitted.
func (r *Reconciler) quota(run *v1alpha1.BenchmarkRun, s *session, pods map[string]*corev1.Pod, clients []decide.Client) {
	held := 0
	for i := range clients {
		m := s.members[clients[i].Key]
		if clients[i].Connection != decide.Connecting {
			continue
		}
		if pod := pods[objects.PodName(run, m.pod)]; pod != nil && objects.AwaitsQuota(pod) {
			held++
			m.heldUntil = s.now()
			clients[i].Message = "Kueue has not admitted its pod yet"
		}
		if m.heldUntil.After(clients[i].Since) {
			clients[i].Since = m.heldUntil
		}
	}
	waits := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
	was := waits != nil && waits.Status == metav1.ConditionTrue && waits.Reason == v1alpha1.ReasonWaitsForQuota
	switch {
	case ending(run) || !run.DeletionTimestamp.IsZero():
	case held > 0 && len(run.Status.Steps) == 0:
		record.Waiting(run, true, v1alpha1.ReasonWaitsForQuota, fmt.Sprintf("%d of %d clients wait for quota in Kueue's LocalQueue %s",
			held, len(clients), objects.KueueQueue(run)), s.now())
	case was:
		record.Waiting(run, false, v1alpha1.ReasonQuotaGranted, "Kueue has admitted the run's clients", s.now())
		run.Status.Stage = v1alpha1.StageConnecting
	}
}

// replacedBy returns the reason why a run must make way for another run, or nil if it may continue.
func replacedBy(run *v1alpha1.BenchmarkRun) *decide.Failure {
	if why := run.Annotations[v1alpha1.AnnotationReplaced]; why != "" {
		return &decide.Failure{Reason: v1alpha1.ReasonReplaced, Message: v1alpha1.Truncate(why, 512)}
	}
	return nil
}

// endedByKueue returns the reason why Kueue ends a run, or nil if it does not.
func endedByKueue(pod *corev1.Pod) *decide.Failure {
	why, evicted := objects.KueueEnds(pod)
	switch {
	case why == nil:
		return nil
	case evicted:
		return &decide.Failure{Reason: v1alpha1.ReasonPreempted, Message: fmt.Sprintf("Kueue evicted pod %s: %s: %s", pod.Name, why.Reason, why.Message)}
	}
	return &decide.Failure{Reason: v1alpha1.ReasonStopped, Message: fmt.Sprintf("Kueue stopped pod %s: %s: %s", pod.Name, why.Reason, why.Message)}
}
