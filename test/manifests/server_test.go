package manifests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/controlplane"
	"github.com/storagebench/storagebench/test/hang"
)

// api connects as an administrator to the API server that the tests of this package share and to which the manifests
// were applied. It is nil with -short.
var api *rest.Config

func TestMain(m *testing.M) {
	controlplane.Main(m, func(administrator *rest.Config) (int, error) {
		if err := apply(administrator); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

// apply does the same as `kubectl apply -k config/default --server-side`. Server-side apply refuses unknown fields.
func apply(config *rest.Config) error {
	api = config
	manifests, err := render.Folder(os.DirFS("../../config"), render.Default, version)
	if err != nil {
		return err
	}
	admin, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, object); err != nil {
			return err
		}
		err := admin.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// as returns a client that impersonates a user, or the administrator's if user is empty.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	config := rest.CopyConfig(api)
	if user != "" {
		config.Impersonate.UserName = user
	}
	made, err := client.New(config, client.Options{Scheme: controlplane.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestObjectsFitIntoAnAnnotation checks the size of the objects, because kubectl apply without --server-side keeps the
// whole object in an annotation.
func TestObjectsFitIntoAnAnnotation(t *testing.T) {
	const limit = 256 << 10
	for _, object := range all(t) {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) >= limit {
			t.Errorf("%s %s has %d bytes, the limit is %d", object.GetKind(), object.GetName(), len(text), limit)
		}
	}
}

// TestTheNamespaceAdmitsTheOperator checks that the namespace's Pod Security admits the operator, but not a pod that
// keeps its capabilities.
func TestTheNamespaceAdmitsTheOperator(t *testing.T) {
	admin := as(t, "")
	template := deployment(t).Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = "operator", namespace
	if err := admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
		t.Error(err)
	}
	pod.Spec.Containers[0].SecurityContext.Capabilities = nil
	if err := admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("a pod that keeps its capabilities: %v", err)
	}
}

// bind creates a namespace and binds a ClusterRole to a user in it. Only this role is bound here; in a cluster, its
// rules are part of view, edit and admin. It returns once the API server allows the user the verb on benchmarks.
func bind(t *testing.T, user, role, verb string) string {
	t.Helper()
	admin := as(t, "")
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "users-"}}
	if err := admin.Create(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	err := admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: space.Name, Name: "test"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	if err != nil {
		t.Fatal(err)
	}
	allowed(t, admin, user, space.Name, verb)
	return space.Name
}

// allowed waits until the API server enforces a new binding, which allows a verb. The API server learns of bindings by
// watching.
func allowed(t *testing.T, admin client.Client, user, space, verb string) {
	t.Helper()
	hang.Until(t, user+" has the rights of the binding", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: space, Verb: verb, Group: v1alpha1.Group, Resource: "storagebenchmarks"}}}
		if err := admin.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	})
}

func TestEditorsInTheirNamespace(t *testing.T) {
	space, editor := bind(t, "editor", "storagebench-edit", "create"), as(t, "editor")
	benchmark := builders.Benchmark("quick").Target("data").Prepare("layout").Obj()
	benchmark.Namespace = space
	if err := editor.Create(t.Context(), benchmark.DeepCopy()); err != nil {
		t.Error(err)
	}
	if err := editor.Create(t.Context(), builders.Profile(space, "own", builders.Fio())); err != nil {
		t.Error(err)
	}
	benchmark.Namespace = "default"
	for what, object := range map[string]client.Object{
		"a benchmark elsewhere":    benchmark,
		"a run, which is a record": &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "made-up"}},
		"a profile of the cluster": builders.ClusterProfile("everybodys", builders.Fio()),
	} {
		if err := editor.Create(t.Context(), object); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestViewersOnlyLook(t *testing.T) {
	space, viewer := bind(t, "viewer", "storagebench-view", "list"), as(t, "viewer")
	if err := viewer.List(t.Context(), &v1alpha1.StorageBenchmarkList{}, client.InNamespace(space)); err != nil {
		t.Error(err)
	}
	benchmark := builders.Benchmark("quick").Target("data").Prepare("layout").Obj()
	benchmark.Namespace = space
	if err := viewer.Create(t.Context(), benchmark); !apierrors.IsForbidden(err) {
		t.Errorf("a viewer creates a benchmark: %v", err)
	}
}
