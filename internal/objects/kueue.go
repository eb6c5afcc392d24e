package objects

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Labels, annotations and conditions of Kueue's plain pod integration. See its documentation, "Run Plain Pods", and
// pkg/controller/jobs/pod in its source.
const (
	// KueueGroup is the label with the name of the pod group, which is admitted as a unit; its Workload has the same
	// name. kueueCount is the annotation with the number of pods in the group.
	KueueGroup = "kueue.x-k8s.io/pod-group-name"
	kueueCount = "kueue.x-k8s.io/pod-group-total-count"
	// KueueRetriable is the annotation that, with the value "false" on any pod of a group, makes the whole group not
	// retriable: Kueue considers the group finished once its pods have ended.
	KueueRetriable = "kueue.x-k8s.io/retriable-in-group"
	// kueueGate is the prefix of the scheduling gates that Kueue removes on admission. With topology-aware scheduling,
	// a pod has two such gates.
	kueueGate = "kueue.x-k8s.io/"
	// kueueEnds is the type of the pod condition that Kueue sets before it deletes the pod.
	kueueEnds corev1.PodConditionType = "TerminationTarget"
)

// KueueQueue returns the LocalQueue for a run's pods, or "" if they do not use Kueue.
func KueueQueue(run *v1alpha1.BenchmarkRun) string {
	if queue := template(run).Labels[v1alpha1.LabelKueueQueue]; queue != "" {
		return queue
	}
	return run.Labels[v1alpha1.LabelKueueQueue]
}

// kueueLabels puts all pods of a run into one group, which is admitted as a whole or not at all. If clients were
// admitted one by one, those admitted first would wait for the others.
func kueueLabels(run *v1alpha1.BenchmarkRun) map[string]string {
	queue := KueueQueue(run)
	if queue == "" {
		return nil
	}
	labels := map[string]string{v1alpha1.LabelKueueQueue: queue, KueueGroup: labelValue(run.Name)}
	if class := run.Labels[v1alpha1.LabelKueuePriority]; class != "" && template(run).Labels[v1alpha1.LabelKueuePriority] == "" {
		labels[v1alpha1.LabelKueuePriority] = class
	}
	return labels
}

// kueueAnnotations returns the annotations that a pod of a Kueue group needs in addition to kueueLabels.
func kueueAnnotations(run *v1alpha1.BenchmarkRun) map[string]string {
	if KueueQueue(run) == "" {
		return nil
	}
	return map[string]string{kueueCount: strconv.Itoa(len(run.Spec.Run.Targets) * max(1, int(run.Spec.Run.Clients.Count)))}
}

// AwaitsQuota reports whether the pod cannot be scheduled yet because Kueue has not admitted it.
func AwaitsQuota(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.SchedulingGates {
		if strings.HasPrefix(gate.Name, kueueGate) {
			return true
		}
	}
	return false
}

// KueueEnds returns the condition with which Kueue announces that it will delete a pod, or nil if there is none.
// evicted is true if the pod lost its quota and may be admitted again later. Otherwise its Workload was deleted or
// deactivated.
func KueueEnds(pod *corev1.Pod) (why *corev1.PodCondition, evicted bool) {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type != kueueEnds || condition.Status != corev1.ConditionTrue || pod.Labels[KueueGroup] == "" {
			continue
		}
		evicted = condition.Reason == "NotAdmitted" ||
			strings.HasPrefix(condition.Reason, "WorkloadEvicted") && !strings.HasPrefix(condition.Reason, "WorkloadEvictedDueToDeactivated")
		return condition, evicted
	}
	return nil, false
}

// EndKueueGroup marks the Kueue pod group of a finished run as not retriable, by an annotation on one of its pods. It
// returns false if there is nothing to mark. Without the mark, Kueue keeps the pods of an unsuccessful group and
// reserves their quota for replacements.
func EndKueueGroup(pod *corev1.Pod) bool {
	if pod.Labels[KueueGroup] == "" || pod.Annotations[KueueRetriable] == "false" {
		return false
	}
	annotations := maps.Clone(pod.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[KueueRetriable] = "false"
	pod.Annotations = annotations
	return true
}
