package manifests

import (
	"bytes"
	"os"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/render"
)

const (
	namespace = "storagebench-system"
	name      = "storagebench-operator"
	version   = "v0.0.0-test"
)

var rendered = sync.OnceValues(func() ([]byte, error) {
	return render.Folder(os.DirFS("../../config"), render.Default, version)
})

// all returns every object, in the order in which they are applied.
func all(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	manifests, err := rendered()
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

// typed returns the objects of a kind. It fails the test if a field is unknown to the API.
func typed[T any](t *testing.T, kind string) []T {
	t.Helper()
	var found []T
	for _, object := range all(t) {
		if object.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &one, true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

func theOne[T any](t *testing.T, kind string) T {
	t.Helper()
	found := typed[T](t, kind)
	if len(found) != 1 {
		t.Fatalf("there are %d of kind %s, want 1", len(found), kind)
	}
	return found[0]
}

func deployment(t *testing.T) appsv1.Deployment {
	t.Helper()
	return theOne[appsv1.Deployment](t, "Deployment")
}

// operatorRules returns the operator's permissions in the whole cluster and in its own namespace.
func operatorRules(t *testing.T) (everywhere, own []rbacv1.PolicyRule) {
	t.Helper()
	account := deployment(t).Spec.Template.Spec.ServiceAccountName
	isOperator := func(subjects []rbacv1.Subject) bool {
		return len(subjects) == 1 && subjects[0].Kind == "ServiceAccount" && subjects[0].Name == account && subjects[0].Namespace == namespace
	}
	clusterRoles := map[string]rbacv1.ClusterRole{}
	for _, role := range typed[rbacv1.ClusterRole](t, "ClusterRole") {
		clusterRoles[role.Name] = role
	}
	for _, binding := range typed[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		if !isOperator(binding.Subjects) {
			t.Errorf("ClusterRoleBinding %s is not for the operator: %+v", binding.Name, binding.Subjects)
		}
		everywhere = append(everywhere, clusterRoles[binding.RoleRef.Name].Rules...)
	}
	role, binding := theOne[rbacv1.Role](t, "Role"), theOne[rbacv1.RoleBinding](t, "RoleBinding")
	if !isOperator(binding.Subjects) || binding.RoleRef.Kind != "Role" || binding.RoleRef.Name != role.Name ||
		role.Namespace != namespace || binding.Namespace != namespace {
		t.Errorf("the RoleBinding %+v does not give the operator the Role %s/%s", binding, role.Namespace, role.Name)
	}
	if len(everywhere) == 0 || len(role.Rules) == 0 {
		t.Fatal("the operator has no rights")
	}
	return everywhere, role.Rules
}

func policy(t *testing.T) networkingv1.NetworkPolicy {
	t.Helper()
	return theOne[networkingv1.NetworkPolicy](t, "NetworkPolicy")
}
