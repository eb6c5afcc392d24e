package benchmarkrun

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
)

// readLabels and readAnnotations are the keys that this controller reads from cached pods, or copies to their Secrets.
var (
	readLabels = []string{v1alpha1.LabelBenchmark, v1alpha1.LabelRun, v1alpha1.LabelTarget, v1alpha1.LabelClient,
		v1alpha1.LabelAttempt, objects.KueueGroup}
	readAnnotations = []string{v1alpha1.AnnotationProof, objects.KueueRetriable}
)

// TrimPod is a cache transform. It reduces a pod to what this controller reads: the status; the metadata, but without
// managed fields and without labels and annotations that this controller does not use; and the node, the scheduling
// gates, the names of claims and the ports from the spec. With hundreds of clients, the rest of the specs would take
// most of the memory, and so would large annotations of a benchmark's pod template.
func TrimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // the cache passes a tombstone for a deletion that it missed
	}
	pod.ManagedFields = nil
	maps.DeleteFunc(pod.Labels, func(key, _ string) bool { return !slices.Contains(readLabels, key) })
	maps.DeleteFunc(pod.Annotations, func(key, _ string) bool { return !slices.Contains(readAnnotations, key) })
	spec := pod.Spec.DeepCopy()
	pod.Spec.Reset()
	pod.Spec.NodeName, pod.Spec.SchedulingGates = spec.NodeName, spec.SchedulingGates
	pod.Spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim == nil })
	for _, container := range spec.Containers {
		if len(container.Ports) > 0 {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: container.Name, Ports: container.Ports})
		}
	}
	return pod, nil
}
