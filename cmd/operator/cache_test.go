package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestCacheKeepsLittle checks that the operator's cache strips what it does not need from pods, claims and runs, which
// can be many, whether it watches all namespaces or some.
func TestCacheKeepsLittle(t *testing.T) {
	of := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Annotations: map[string]string{"example.com/large": "a"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}}
	}
	for _, namespaces := range [][]string{nil, {"a"}} {
		options := cacheOptions(namespaces)
		reduce := map[string]cache.TransformFunc{}
		for kind, by := range options.ByObject {
			switch kind.(type) {
			case *corev1.Pod:
				reduce["pod"] = by.Transform
			case *corev1.PersistentVolumeClaim:
				reduce["claim"] = by.Transform
			case *v1alpha1.BenchmarkRun:
				reduce["run"] = by.Transform
			}
		}
		pod := &corev1.Pod{ObjectMeta: of("pod"),
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "client", Image: "image", Env: []corev1.EnvVar{{Name: "a"}}}}}}
		run := &v1alpha1.BenchmarkRun{ObjectMeta: of("run")}
		claim := &metav1.PartialObjectMetadata{ObjectMeta: of("claim")}
		for name, object := range map[string]metav1.Object{"pod": pod, "run": run, "claim": claim} {
			if reduce[name] == nil {
				t.Fatalf("namespaces %q: %s is kept whole", namespaces, name)
			}
			if _, err := reduce[name](object); err != nil || len(object.GetManagedFields()) > 0 {
				t.Errorf("namespaces %q: %s has managed fields %v, %v", namespaces, name, object.GetManagedFields(), err)
			}
			// Annotations of runs are kept: the controller reads those of a live run.
			if name != "run" && len(object.GetAnnotations()) > 0 || object.GetName() != name {
				t.Errorf("namespaces %q: %s has annotations %v", namespaces, object.GetName(), object.GetAnnotations())
			}
		}
		if len(pod.Spec.Containers) > 0 {
			t.Errorf("namespaces %q: the containers of a pod are kept: %+v", namespaces, pod.Spec.Containers)
		}
	}
}
