package objects

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// What Kueue's integration of plain pods reads and writes. See its documentation, "Run Plain Pods", and
// pkg/controller/jobs/pod in its source.
const (
	// kueueGroup is the label with the name of the group of pods that is admitted as one; its Workload has
	// that name too. kueueCount is the annotation that says how many they are.
	kueueGroup = "kueue.x-k8s.io/pod-group-name"
	kueueCount = "kueue.x-k8s.io/pod-group-total-count"
	// kueueRetriable, as the annotation of one pod, says that a group that is over is so for good.
	kueueRetriable = "kueue.x-k8s.io/retriable-in-group"
	// kueueGate keeps a pod from being scheduled until Kueue takes it away; topology-aware scheduling has
	// one more of the prefix.
	kueueGate = "kueue.x-k8s.io/"
	// kueueEnds is the condition of a pod that Kueue is about to delete.
	kueueEnds corev1.PodConditionType = "TerminationTarget"
)

// KueueQueue is the LocalQueue of Kueue that a run's pods are sent to; empty where they are not.
func KueueQueue(run *v1alpha1.BenchmarkRun) string {
	if queue := template(run).Labels[v1alpha1.LabelKueueQueue]; queue != "" {
		return queue
	}
	return run.Labels[v1alpha1.LabelKueueQueue]
}

// kueueLabels make all pods of a run one group, which is admitted whole or not at all: clients that have
// room one by one would wait for each other.
func kueueLabels(run *v1alpha1.BenchmarkRun) map[string]string {
	queue := KueueQueue(run)
	if queue == "" {
		return nil
	}
	labels := map[string]string{v1alpha1.LabelKueueQueue: queue, kueueGroup: labelValue(run.Name)}
	if class := run.Labels[v1alpha1.LabelKueuePriority]; class != "" && template(run).Labels[v1alpha1.LabelKueuePriority] == "" {
		labels[v1alpha1.LabelKueuePriority] = class
	}
	return labels
}

// kueueAnnotations go with kueueLabels.
func kueueAnnotations(run *v1alpha1.BenchmarkRun) map[string]string {
	if KueueQueue(run) == "" {
		return nil
	}
	return map[string]string{kueueCount: strconv.Itoa(len(run.Spec.Run.Targets) * max(1, int(run.Spec.Run.Clients.Count)))}
}

// AwaitsQuota reports whether Kueue keeps a pod from being scheduled.
func AwaitsQuota(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.SchedulingGates {
		if strings.HasPrefix(gate.Name, kueueGate) {
			return true
		}
	}
	return false
}

// KueueEnds is why Kueue ends a pod; nil where it does not. evicted says that it may be admitted again some
// time: its quota was taken away. Otherwise somebody has deleted or deactivated its Workload.
func KueueEnds(pod *corev1.Pod) (why *corev1.PodCondition, evicted bool) {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type != kueueEnds || condition.Status != corev1.ConditionTrue || pod.Labels[kueueGroup] == "" {
			continue
		}
		evicted = condition.Reason == "NotAdmitted" ||
			strings.HasPrefix(condition.Reason, "WorkloadEvicted") && !strings.HasPrefix(condition.Reason, "WorkloadEvictedDueToDeactivated")
		return condition, evicted
	}
	return nil, false
}

// EndKueueGroup marks a pod of a run that is over, in a group of Kueue; false where nothing has to be
// marked. Kueue keeps the pods of a group that has not succeeded, and its quota, for replacements, unless one
// says that there will be none.
func EndKueueGroup(pod *corev1.Pod) bool {
	if pod.Labels[kueueGroup] == "" || pod.Annotations[kueueRetriable] == "false" {
		return false
	}
	annotations := maps.Clone(pod.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[kueueRetriable] = "false"
	pod.Annotations = annotations
	return true
}
