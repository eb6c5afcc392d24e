package benchmarkrun

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/discover"
)

// user is a pod that uses a claim and does not belong to the run.
type user struct {
	// pod is the name of the pod. It is empty if the pod is in another namespace, because users who can read runs are
	// not necessarily allowed to see that pod.
	pod string
	// node is the node of the pod, or empty if the pod is being deleted.
	node string
	// other is true if the pod uses a different claim for the same storage.
	other bool
}

// users returns, for each claim of a run, the pods that use the claim and do not belong to the run.
func (r *Reconciler) users(ctx context.Context, run *v1alpha1.BenchmarkRun, all []*usedClaim) (map[*usedClaim][]user, error) {
	found := map[*usedClaim][]user{}
	if len(all) == 0 {
		return found, nil
	}
	same, err := r.sameVolumes(ctx, all)
	if err != nil {
		return nil, err
	}
	namespaces := map[string]bool{run.Namespace: true}
	for _, others := range same {
		for _, other := range others {
			if r.watches(other.Namespace) {
				namespaces[other.Namespace] = true
			}
		}
	}
	for namespace := range namespaces {
		here := map[*usedClaim][]user{}
		err := r.eachPod(ctx, namespace, func() { clear(here) }, func(pod *corev1.Pod) {
			if !r.counts(ctx, run, pod) {
				return
			}
			for _, one := range all {
				switch {
				case namespace == run.Namespace && uses(pod, one.claim.Name):
					here[one] = append(here[one], user{pod: pod.Name, node: stayingNode(pod)})
				case slices.ContainsFunc(same[one], func(key client.ObjectKey) bool { return key.Namespace == namespace && uses(pod, key.Name) }):
					by := user{node: stayingNode(pod), other: true}
					if namespace == run.Namespace {
						by.pod = pod.Name
					}
					here[one] = append(here[one], by)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for one, by := range here {
			found[one] = append(found[one], by...)
		}
	}
	return found, nil
}

// stayingNode returns the node of a pod, or "" if the pod is being deleted, perhaps because the node is being drained.
func stayingNode(pod *corev1.Pod) string {
	if !pod.DeletionTimestamp.IsZero() {
		return ""
	}
	return pod.Spec.NodeName
}

// eachPod passes each pod of a namespace to the function show. If the operator is not allowed to list pods, eachPod
// passes none. Each time eachPod starts to list the pods, it calls the function begin, which discards what show has
// collected so far (see eachPage).
func (r *Reconciler) eachPod(ctx context.Context, namespace string, begin func(), show func(*corev1.Pod)) error {
	err := eachPage(ctx, r.direct, &corev1.PodList{}, begin, func(page *corev1.PodList) {
		for i := range page.Items {
			show(&page.Items[i])
		}
	}, client.InNamespace(namespace))
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
	}
	return nil
}

// counts reports whether a pod counts as a user of its volumes. A pod counts if it is assigned to a node and has not
// ended. Clients of this run do not count, nor do clients of a run that has ended or was deleted, because their agents
// no longer use the volumes. A pod that names such a run as its owner, but was not created by the operator, does count.
func (r *Reconciler) counts(ctx context.Context, run *v1alpha1.BenchmarkRun, pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || metav1.IsControlledBy(pod, run) {
		return false
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != v1alpha1.BenchmarkRunKind || owner.APIVersion != v1alpha1.GroupVersion.String() ||
		!r.hasProof(pod, owner.UID) {
		return true
	}
	var other v1alpha1.BenchmarkRun
	err := r.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}, &other)
	return err == nil && other.UID == owner.UID && other.Status.EndTime == nil
}

// uses reports whether a pod uses the claim with the given name in the pod's namespace.
func uses(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == claim ||
			volume.Ephemeral != nil && pod.Name+"-"+volume.Name == claim
	})
}

// sameVolumes finds volumes that refer to the same storage as the volume of a claim. It returns, for each claim, the
// other claims that are bound to such volumes, or none if the operator is not allowed to list volumes.
func (r *Reconciler) sameVolumes(ctx context.Context, all []*usedClaim) (map[*usedClaim][]client.ObjectKey, error) {
	same := map[*usedClaim][]client.ObjectKey{}
	if !slices.ContainsFunc(all, func(one *usedClaim) bool { return one.volume != nil }) {
		return same, nil
	}
	_, err := r.eachVolume(ctx, func() { clear(same) }, func(other *corev1.PersistentVolume) {
		if other.Spec.ClaimRef == nil || other.Status.Phase != corev1.VolumeBound {
			return // the volume is not bound: the claim in its claimRef is bound to another volume, or to none
		}
		key := client.ObjectKey{Namespace: other.Spec.ClaimRef.Namespace, Name: other.Spec.ClaimRef.Name}
		for _, one := range all {
			if one.volume != nil && one.volume.Name != other.Name && discover.Same(one.volume, other) {
				same[one] = append(same[one], key)
			}
		}
	})
	return same, err
}

// eachVolume passes each volume of the cluster to the function show. Each time it starts to list the volumes, it calls
// the function begin, which discards what show has collected so far (see eachPage). listed is false if the operator is
// not allowed to list volumes.
func (r *Reconciler) eachVolume(
	ctx context.Context, begin func(), show func(*corev1.PersistentVolume),
) (listed bool, err error) {
	err = eachPage(ctx, r.direct, &corev1.PersistentVolumeList{}, begin, func(page *corev1.PersistentVolumeList) {
		for i := range page.Items {
			show(&page.Items[i])
		}
	})
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list the volumes of the cluster: %w", err)
	}
	return true, nil
}

// nodeOf returns the only node on which a claim is in use, or "" if there is none or more than one.
func nodeOf(users []user) string {
	node := ""
	for _, one := range users {
		switch {
		case one.other, one.node == "":
		case node == "":
			node = one.node
		case node != one.node:
			return ""
		}
	}
	return node
}

// checkIdle warns about claims that other pods use, and refuses the run if the claim's target sets requireIdle.
func (c *claimed) checkIdle(all []*usedClaim, users map[*usedClaim][]user) {
	for _, one := range all {
		if len(users[one]) == 0 {
			continue
		}
		by := formatUsers(users[one])
		for _, want := range one.volumes {
			message := fmt.Sprintf("claim %s (target %s, volume %s) is in use by %s", one.claim.Name, want.target.Name, want.volume.Name, by)
			c.warnings = append(c.warnings, v1alpha1.NewWarning(v1alpha1.WarningVolumeInUse, v1alpha1.PhaseSteady,
				message+": load from other users affects the results"))
			if idle := want.target.RequireIdle; idle != nil && *idle && c.refusal == nil {
				c.refusal = &decide.Failure{Reason: v1alpha1.ReasonVolumeInUse, Message: message +
					", but requireIdle is true: stop the other pods and request another run, or set requireIdle to false"}
			}
		}
	}
}

// mostNamed limits how many pods a message lists by name.
const mostNamed = 3

// formatUsers lists the names of the pods in the run's namespace. It does not name pods in other namespaces.
func formatUsers(users []user) string {
	var pods []string
	elsewhere := 0
	for _, one := range users {
		if one.pod == "" {
			elsewhere++
			continue
		}
		pods = append(pods, one.pod)
	}
	slices.Sort(pods)
	pods = slices.Compact(pods)
	var by []string
	if more := len(pods) - mostNamed; more > 0 {
		pods = append(pods[:mostNamed], fmt.Sprintf("%d more", more))
	}
	switch len(pods) {
	case 0:
	case 1:
		by = append(by, "pod "+pods[0])
	default:
		by = append(by, "pods "+strings.Join(pods, ", "))
	}
	if elsewhere > 0 {
		by = append(by, "another namespace")
	}
	return strings.Join(by, " and ")
}

// optional reads an object that might not exist. found is nil if the object does not exist, if the operator is not
// allowed to read it, or if the cluster lacks its kind. In the last two cases, why states the reason.
func optional[T client.Object](ctx context.Context, r *Reconciler, name string, into T) (found T, why string, err error) {
	err = r.direct.Get(ctx, client.ObjectKey{Name: name}, into)
	switch {
	case err == nil:
		return into, "", nil
	case apierrors.IsForbidden(err):
		return found, "permission denied", nil
	case meta.IsNoMatchError(err):
		return found, "kind not available in this cluster", nil
	case apierrors.IsNotFound(err):
		return found, "", nil
	}
	return found, "", fmt.Errorf("read %s: %w", name, err)
}
