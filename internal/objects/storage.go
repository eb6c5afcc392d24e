package objects

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Secret returns the Secret with a client's configuration, including its private key. The pod owns the Secret, so
// Kubernetes deletes both together, and the operator needs no permission to delete Secrets. Pass the pod that the API
// server returned, because the owner reference needs its UID. The Secret is immutable.
func Secret(pod *corev1.Pod, agentJSON []byte) *corev1.Secret {
	immutable := true
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace,
			Labels:          ownLabels(pod.Labels),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
		},
		Type:      corev1.SecretTypeOpaque,
		Immutable: &immutable,
		Data:      map[string][]byte{ConfigKey: agentJSON},
	}
}

// Claims returns the claims to create from the claim templates of a run, in the order of the targets, their volumes and
// their clients.
func Claims(run *v1alpha1.BenchmarkRun) []*corev1.PersistentVolumeClaim {
	var all []*corev1.PersistentVolumeClaim
	for _, target := range run.Spec.Run.Targets {
		for _, volume := range target.Volumes {
			switch {
			case volume.ClaimTemplate == nil:
			case volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient:
				for index := range int(clientsPerTarget(run)) {
					all = append(all, claim(run, target, volume, index))
				}
			default:
				all = append(all, claim(run, target, volume, 0))
			}
		}
	}
	return all
}

// claim returns a claim for a volume, with the spec from the user's claim template.
func claim(run *v1alpha1.BenchmarkRun, target v1alpha1.Target, volume v1alpha1.Volume, index int) *corev1.PersistentVolumeClaim {
	labels, owners := ClientLabels(run, target.Name, index), ownedByRun(run)
	if volume.ClaimTemplate.Scope != v1alpha1.ClaimPerClient {
		delete(labels, v1alpha1.LabelClient)
	}
	if volume.ClaimTemplate.Lifetime == v1alpha1.ClaimForBenchmark {
		owners = ownedByBenchmark(run)
		maps.DeleteFunc(labels, func(key, _ string) bool { return key == v1alpha1.LabelRun })
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ClaimName(run, target, volume, index), Namespace: run.Namespace,
			Labels: labels, OwnerReferences: owners,
		},
		Spec: *volume.ClaimTemplate.Spec.DeepCopy(),
	}
}
