package e2e

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// ownProfiles deletes one profile of the library, replaces another by a user's profile, and returns all profiles that
// exist then.
func ownProfiles(u *userTools) map[string]string {
	u.Helper()
	for _, name := range []string{"seq-read-1m", "etcd-wal"} {
		must(u.T, u.in.api.Delete(u.Context(), &v1alpha1.ClusterWorkloadProfile{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	must(u.T, u.in.api.Create(u.Context(), builders.ClusterProfile("etcd-wal", builders.Fio())))
	return profilesOf(u)
}

// profilesOf returns the UID and generation of each profile of the cluster, by name.
func profilesOf(u *userTools) map[string]string {
	u.Helper()
	var list v1alpha1.ClusterWorkloadProfileList
	must(u.T, u.in.api.List(u.Context(), &list))
	found := map[string]string{}
	for _, one := range list.Items {
		found[one.Name] = fmt.Sprintf("%s, generation %d", one.UID, one.Generation)
	}
	return found
}

func uids(pods []corev1.Pod) []types.UID {
	var all []types.UID
	for _, pod := range pods {
		all = append(all, pod.UID)
	}
	slices.Sort(all)
	return all
}

func kindOf(u *userTools) *unstructured.Unstructured {
	u.Helper()
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	must(u.T, u.in.api.Get(u.Context(), client.ObjectKey{Name: "storagebenchmarks.storagebench.dev"}, kind))
	return kind
}

// suspendOf is the path of spec.suspend within a version of the kind.
var suspendOf = []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "suspend"}

func hasSuspend(t *testing.T, kind *unstructured.Unstructured) bool {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(kind.Object, "spec", "versions")
	must(t, err)
	_, found, err := unstructured.NestedMap(versions[0].(map[string]any), suspendOf...)
	must(t, err)
	return found
}

// olderKinds removes a field from a kind, as if an older version were installed.
func olderKinds(u *userTools) {
	u.Helper()
	kind := kindOf(u)
	versions, _, err := unstructured.NestedSlice(kind.Object, "spec", "versions")
	must(u.T, err)
	unstructured.RemoveNestedField(versions[0].(map[string]any), suspendOf...)
	must(u.T, unstructured.SetNestedSlice(kind.Object, versions, "spec", "versions"))
	must(u.T, u.in.api.Update(u.Context(), kind))
	if hasSuspend(u.T, kindOf(u)) {
		u.Fatal("the kind still has the field")
	}
}
