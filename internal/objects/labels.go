package objects

import (
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// RunLabels returns the labels that all objects of a run have in common, and that distinguish them from the objects of
// other runs.
func RunLabels(run *v1alpha1.BenchmarkRun) map[string]string {
	return map[string]string{
		v1alpha1.LabelBenchmark: labelValue(run.Spec.BenchmarkRef.Name),
		v1alpha1.LabelRun:       labelValue(run.Name),
	}
}

// ClientLabels returns the labels of a client's claims. The client's pods and Secrets have LabelAttempt in addition.
func ClientLabels(run *v1alpha1.BenchmarkRun, target string, index int) map[string]string {
	labels := RunLabels(run)
	labels[v1alpha1.LabelTarget] = labelValue(target)
	labels[v1alpha1.LabelClient] = strconv.Itoa(index)
	return labels
}

// ownLabels returns the labels that storagebench sets on a pod.
func ownLabels(labels map[string]string) map[string]string {
	own := maps.Clone(labels)
	maps.DeleteFunc(own, func(key, _ string) bool { return !strings.HasPrefix(key, v1alpha1.Group+"/") })
	return own
}

// mergeLabels merges two maps. If a key is in both, the value in ours takes precedence.
func mergeLabels(ours, theirs map[string]string) map[string]string {
	all := maps.Clone(theirs)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, ours)
	return all
}

// ownedByRun returns an owner reference that makes Kubernetes delete the object with the run.
func ownedByRun(run *v1alpha1.BenchmarkRun) []metav1.OwnerReference {
	return ownedBy(v1alpha1.BenchmarkRunKind, run.Name, run.UID)
}

// ownedByBenchmark returns an owner reference that makes Kubernetes delete the object with the benchmark instead of the
// run.
func ownedByBenchmark(run *v1alpha1.BenchmarkRun) []metav1.OwnerReference {
	benchmark := run.Spec.BenchmarkRef
	return ownedBy(v1alpha1.StorageBenchmarkKind, benchmark.Name, types.UID(benchmark.UID))
}

func ownedBy(kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: name, UID: uid,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}
