package benchmarkrun

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// TrimPod is a cache transform. It reduces a pod to what this controller reads: metadata without managed fields,
// status, and from the spec the node, the scheduling gates, the names of claims and the ports. With hundreds of
// clients, the rest of the specs would take most of the memory.
func TrimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // a tombstone, which the cache passes for a deletion that it has missed
	}
	pod.ManagedFields = nil
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
