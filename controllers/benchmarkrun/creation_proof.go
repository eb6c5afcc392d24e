package benchmarkrun

import (
	"crypto/hmac"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// proofOf returns the value of AnnotationProof for an object that the operator creates for an owner. The value is
// derived from the master key, the object's kind and name, and the owner's UID. It differs for each attempt of a
// client, because the name of a pod contains the client and the attempt.
//
// The value is secret until the operator creates an object of that name for that owner. From then on, it can be read
// from the object. An attacker who deletes the object and creates another one with a copy of the annotation passes the
// check, unless this process knows the UID of the first object. The attack requires permission to delete and create
// pods in the namespace, and the attacker gains no more than a client pod with an image of their choice.
func (r *Reconciler) proofOf(object client.Object, owner types.UID) (string, error) {
	kind, err := apiutil.GVKForObject(object, r.client.Scheme())
	if err != nil {
		return "", fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	return r.options.Master.Proof(kind.Kind, object.GetName(), string(owner))
}

// addProof adds the proof to an object that the operator is about to create.
func (r *Reconciler) addProof(object client.Object, owner types.UID) error {
	proof, err := r.proofOf(object, owner)
	if err != nil {
		return err
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationProof] = proof
	object.SetAnnotations(annotations)
	return nil
}

// hasProof reports whether an object belongs to an owner and carries the proof that the operator has created it.
func (r *Reconciler) hasProof(object client.Object, owner types.UID) bool {
	proof, err := r.proofOf(object, owner)
	return err == nil && ownedBy(object, owner) && hmac.Equal([]byte(object.GetAnnotations()[v1alpha1.AnnotationProof]), []byte(proof))
}

// ownPods returns the pods that the operator has created. It reuses the memory of the given slice, and verifies each
// pod only once.
func (r *Reconciler) ownPods(run *v1alpha1.BenchmarkRun, s *session, pods []corev1.Pod) []corev1.Pod {
	seen := make(map[types.UID]bool, len(pods))
	own := filter(pods, func(pod *corev1.Pod) bool {
		is, known := s.ownPods[pod.UID]
		if !known {
			is = r.hasProof(pod, run.UID)
		}
		seen[pod.UID] = is
		return is
	})
	s.ownPods = seen
	return own
}
