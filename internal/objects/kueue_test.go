package objects_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// TestKueueGroup checks that the pods of a run form one group across all targets, wherever the queue is named. A
// replacement belongs to the same group, which accepts it in place of the lost pod. Without a queue, the pods have no
// Kueue metadata.
func TestKueueGroup(t *testing.T) {
	pod := func(change func(*v1alpha1.BenchmarkRun), attempt int) *corev1.Pod {
		run := runOf(builders.Benchmark("quickstart").Target("a").Target("b").Clients(3).Steady("write", "1m"))
		change(run)
		return objects.Pod(settings, run, objects.Client{Target: "b", Index: 2, Attempt: attempt}, objects.Storage{})
	}
	for name, test := range map[string]struct {
		change   func(*v1alpha1.BenchmarkRun)
		queue    string
		priority string
	}{
		"nobody": {change: func(*v1alpha1.BenchmarkRun) {}},
		"the benchmark": {queue: "team", priority: "low", change: func(run *v1alpha1.BenchmarkRun) {
			run.Labels = map[string]string{v1alpha1.LabelKueueQueue: "team", v1alpha1.LabelKueuePriority: "low"}
		}},
		"the template": {queue: "own", change: func(run *v1alpha1.BenchmarkRun) {
			run.Spec.Run.Clients.Template = &v1alpha1.PodTemplate{Labels: map[string]string{v1alpha1.LabelKueueQueue: "own"}}
		}},
		"both": {queue: "own", priority: "high", change: func(run *v1alpha1.BenchmarkRun) {
			run.Labels = map[string]string{v1alpha1.LabelKueueQueue: "team", v1alpha1.LabelKueuePriority: "low"}
			run.Spec.Run.Clients.Template = &v1alpha1.PodTemplate{
				Labels: map[string]string{v1alpha1.LabelKueueQueue: "own", v1alpha1.LabelKueuePriority: "high"}}
		}},
	} {
		for attempt := 1; attempt < 3; attempt++ {
			made := pod(test.change, attempt)
			group, count := "", ""
			if test.queue != "" {
				group, count = "quickstart-0a1b2c3d", "6"
			}
			for key, want := range map[string]string{v1alpha1.LabelKueueQueue: test.queue, v1alpha1.LabelKueuePriority: test.priority,
				"kueue.x-k8s.io/pod-group-name": group} {
				if made.Labels[key] != want {
					t.Errorf("%s names the queue: label %s is %q, want %q", name, key, made.Labels[key], want)
				}
			}
			if got := made.Annotations["kueue.x-k8s.io/pod-group-total-count"]; got != count {
				t.Errorf("%s names the queue: the group has %q pods, want %q", name, got, count)
			}
			if len(made.Spec.SchedulingGates) > 0 {
				t.Errorf("the gates are Kueue's to set: %v", made.Spec.SchedulingGates)
			}
		}
	}
}

// TestKueueEnds checks, for the reasons in the source of Kueue, whether Kueue ended a pod and whether the pod may be
// admitted again.
func TestKueueEnds(t *testing.T) {
	for reason, evicted := range map[string]bool{
		"WorkloadEvicted": true, "WorkloadEvictedDueToPreempted": true, "WorkloadEvictedDueToPodsReadyTimeout": true,
		"WorkloadEvictedDueToClusterQueueStopped": true, "NotAdmitted": true, "WorkloadEvictedDueToDeactivated": false,
		"WorkloadEvictedDueToDeactivatedDueToRequeuingLimitExceeded": false, "WorkloadDeleted": false, "NoMatchingWorkload": false,
	} {
		pod := &corev1.Pod{}
		pod.Status.Conditions = []corev1.PodCondition{{Type: "TerminationTarget", Status: corev1.ConditionTrue, Reason: reason}}
		if why, _ := objects.KueueEnds(pod); why != nil {
			t.Errorf("a pod of no group is ended by Kueue: %v", why)
		}
		pod.Labels = map[string]string{"kueue.x-k8s.io/pod-group-name": "g"}
		why, again := objects.KueueEnds(pod)
		if why == nil || again != evicted {
			t.Errorf("%s: %v, may be admitted again %v, want %v", reason, why, again, evicted)
		}
		if !objects.EndKueueGroup(pod) || pod.Annotations["kueue.x-k8s.io/retriable-in-group"] != "false" || objects.EndKueueGroup(pod) {
			t.Errorf("the group is not ended once: %v", pod.Annotations)
		}
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		if why, _ := objects.KueueEnds(pod); why != nil {
			t.Errorf("a condition that is not true ends a pod: %v", why)
		}
	}
	gated := &corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/mine"}}}}
	if objects.AwaitsQuota(gated) {
		t.Error("another scheduling gate is mistaken for Kueue's")
	}
	gated.Spec.SchedulingGates = append(gated.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/topology"})
	if !objects.AwaitsQuota(gated) {
		t.Error("a gate of Kueue is overlooked")
	}
}
