package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	installed "github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/soak"
)

// These tests create the rare situations in which the operator needs certain rights; see audit_test.go.

// TestANewInstallation checks that an operator without a master key, Lease or library profiles creates them. It runs
// alone, because runs that use the previous key would fail.
func TestANewInstallation(t *testing.T) {
	soak.Only(t)
	in := require(t)
	in.withoutOperator(t)
	in.forceElection(t)
	key := client.ObjectKey{Namespace: operatorNamespace, Name: installed.MasterSecret}
	before := &corev1.Secret{}
	must(t, in.api.Get(t.Context(), key, before))
	must(t, in.api.Delete(t.Context(), before))
	inCluster := func() int {
		var profiles v1alpha1.ClusterWorkloadProfileList
		must(t, in.api.List(t.Context(), &profiles, client.HasLabels{v1alpha1.Group + "/library"}))
		return len(profiles.Items)
	}
	must(t, in.api.DeleteAllOf(t.Context(), &v1alpha1.ClusterWorkloadProfile{}, client.HasLabels{v1alpha1.Group + "/library"}))
	in.scale(t, 1)
	after := &corev1.Secret{}
	must(t, in.api.Get(t.Context(), key, after))
	if after.UID == before.UID || after.Immutable == nil || !*after.Immutable {
		t.Errorf("the Secret of the master key is %+v", after.ObjectMeta)
	}
	deadline := time.Now().Add(time.Minute)
	for in.holder(t) == "" {
		if time.Now().After(deadline) {
			t.Fatal("no operator leads")
		}
		time.Sleep(50 * time.Millisecond)
	}
	profiles, err := library.Profiles()
	must(t, err)
	for made := inCluster(); made != len(profiles); made = inCluster() {
		if time.Now().After(deadline) {
			t.Fatalf("%d profiles were made, the library has %d", made, len(profiles))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestGroupOfKueueEnds checks that the operator marks the pods of a finished run as not retriable, so that Kueue can
// remove the finalizer with which it keeps a group. The test stands in for Kueue.
func TestGroupOfKueueEnds(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	const finalizer = "kueue.x-k8s.io/managed"
	s := newSpace(t)
	s.allowKueue()
	s.claim("data", "1Gi")
	benchmark := small(2).Obj()
	benchmark.Labels = map[string]string{v1alpha1.LabelKueueQueue: "tenants"}
	s.apply(benchmark)
	var pods []corev1.Pod
	s.until("both clients are there", wholeRun, func() bool { pods = s.pods(); return len(pods) == 2 })
	for i := range pods {
		held := pods[i].DeepCopy()
		held.Finalizers = append(held.Finalizers, finalizer)
		must(t, s.api.Patch(t.Context(), held, client.MergeFrom(&pods[i])))
	}
	// The namespace must be deletable even if the test fails.
	t.Cleanup(func() {
		for i := range pods {
			free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
			if err := s.api.Patch(context.Background(), &pods[i], free); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	})
	s.complete(s.ended(wholeRun))
	s.until("both pods are on their way, and their group is over", time.Minute, func() bool {
		now := s.pods()
		return len(now) == 2 && !slices.ContainsFunc(now, func(pod corev1.Pod) bool {
			return pod.DeletionTimestamp == nil || pod.Annotations["kueue.x-k8s.io/retriable-in-group"] != "false"
		})
	})
}

// allowKueue installs config/kueue and waits until the operator has its right.
func (s *space) allowKueue() {
	s.Helper()
	manifests, err := render.Folder(os.DirFS(filepath.Join(s.root, "config")), render.Kueue, s.version)
	must(s.T, err)
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		must(s.T, yaml.Unmarshal(document, object))
		s.install(object)
	}
	s.until("the operator may patch pods", time.Minute, func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + operatorNamespace + ":" + operatorDeployment,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.namespace, Resource: "pods", Verb: "patch"}}}
		must(s.T, s.api.Create(s.Context(), review))
		return review.Status.Allowed
	})
}

// TestHistoryIsPruned checks that a benchmark keeps as many runs as its history limit, and that a pruned run's series
// is deleted.
func TestHistoryIsPruned(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.claim("data", "1Gi")
	benchmark := small(1).Clients(1).Obj()
	benchmark.Spec.HistoryLimit = new(int32(1))
	s.apply(benchmark)
	first := s.ended(wholeRun)
	s.complete(first)
	second := s.again("bench", "again", wholeRun)
	s.complete(second)
	kept := func(run *v1alpha1.BenchmarkRun) bool {
		// Look at the newest attempt: an earlier one may have failed because its start command came too late.
		return s.get(objects.SeriesName(run.Name, "01-write", int(stepOf(run, "01-write").Attempt)), &corev1.ConfigMap{})
	}
	s.until("the first run is gone, with what it did over time", time.Minute, func() bool { return len(s.runs()) == 1 && !kept(first) })
	if !kept(second) {
		t.Error("what the second run did over time is not kept")
	}
	if run := s.run(); run.Name != second.Name {
		t.Errorf("%s is left, the newest is %s", run.Name, second.Name)
	}
	s.clean()
}

// TestOwnersAreHeldBackByRight checks that the operator needs the right to update the finalizers of its objects'
// owners. The objects block the owner's deletion, and some clusters, such as OpenShift and this one, require that right
// to create them. Requests do not show it, so the test tries with an account that lacks it.
func TestOwnersAreHeldBackByRight(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	if !s.Embedded {
		t.Skip("needs the admission plugin OwnerReferencesPermissionEnforcement, which the cluster of test/cluster has")
	}
	maker := s.namespace + "-maker"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "maker"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}}}
	s.create(role)
	s.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "maker"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: maker}}})
	config := rest.CopyConfig(s.Config)
	config.Impersonate.UserName = maker
	api, err := client.New(config, client.Options{Scheme: s.api.Scheme()})
	must(t, err)
	for _, one := range []struct {
		resource string
		made     client.Object
	}{
		{"benchmarkruns", objects.Series(&v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "run", UID: "1"}}, "00-write", 1, nil)},
		{"storagebenchmarks", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "of-benchmark", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StorageBenchmarkKind, Name: "bench", UID: "2", BlockOwnerDeletion: new(true)}}}}},
	} {
		// The API server may not know the new Role yet.
		var refusal error
		s.until("what holds back its owner is refused for that alone", 20*time.Second, func() bool {
			refusal = api.Create(t.Context(), one.made.DeepCopyObject().(client.Object), client.DryRunAll)
			return refusal == nil || strings.Contains(refusal.Error(), "blockOwnerDeletion")
		})
		if !apierrors.IsForbidden(refusal) {
			t.Errorf("%s: %v", one.resource, refusal)
		}
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{one.resource + "/finalizers"}, Verbs: []string{"update"}})
		must(t, s.api.Update(t.Context(), role))
		s.until("with the right it is made", 20*time.Second, func() bool {
			return api.Create(t.Context(), one.made.DeepCopyObject().(client.Object), client.DryRunAll) == nil
		})
	}
}

// TestOlderAPIServers checks the operator against API servers before Kubernetes 1.34, which cannot stream initial
// lists, so that watches begin with lists. The operator runs with the feature turned off.
func TestOlderAPIServers(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	in.withoutOperator(t)
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	operator := in.operate(t)
	operator.leads(time.Minute)
	s := newSpace(t)
	s.claim("data", "1Gi")
	s.apply(small(1).Clients(1).Obj())
	s.complete(s.ended(wholeRun))
	s.clean()
	operator.stop()
}

// TestAlikeEvents checks that a repeated event increases the count of the first one, which needs the right to patch
// events. A policy makes the API server refuse to update a finished run, and the operator reports each refusal.
func TestAlikeEvents(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	newSpace(t).alikeEvents()
}

func (s *space) alikeEvents() {
	s.Helper()
	s.claim("data", "1Gi")
	s.apply(small(20).Clients(1).Obj())
	run := s.busy("01-write")
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: new(admissionv1.Fail),
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.Group}, APIVersions: []string{"*"}, Resources: []string{"benchmarkruns"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: "request.namespace != '" + s.namespace + "'", Message: "runs stay"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	for _, object := range []client.Object{policy, binding} {
		must(s.T, s.api.Create(s.Context(), object))
		s.Cleanup(func() { _ = s.api.Delete(context.Background(), object) })
	}
	s.until("the policy is in force", 15*time.Second, func() bool {
		edit := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"edited":"true"}}}`))
		return s.api.Patch(s.Context(), run.DeepCopy(), edit, client.DryRunAll) != nil
	})
	s.complete(s.ended(wholeRun))
	s.until("one event stands for two", time.Minute, func() bool {
		var events eventsv1.EventList
		must(s.T, s.api.List(s.Context(), &events, client.InNamespace(s.namespace)))
		return slices.ContainsFunc(events.Items, func(event eventsv1.Event) bool {
			return event.Reason == v1alpha1.EventRequestRefused && event.Series != nil && event.Series.Count == 2
		})
	})
}

// TestAttributesClassIsRead checks that a run reports the VolumeAttributesClass that a claim was changed to after its
// creation.
func TestAttributesClassIsRead(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.modified("data")
	s.apply(small(1).Clients(1).Obj())
	run := s.ended(wholeRun)
	s.complete(run)
	if found := run.Status.Storage[0].Volumes[0]; found.VolumeAttributesClass != s.namespace || found.Parameters["iops"] != "4000" {
		t.Errorf("storage %+v", found)
	}
	s.clean()
}

// modified creates a claim and sets its status as a driver does after changing the volume to another
// VolumeAttributesClass.
func (s *space) modified(claim string) {
	s.Helper()
	class := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, DriverName: "example.com",
		Parameters: map[string]string{"iops": "4000"}}
	must(s.T, s.api.Create(s.Context(), class))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), class); err != nil {
			s.Error(err)
		}
	})
	s.retained()
	made := &corev1.PersistentVolumeClaim{}
	s.until("the claim is bound", time.Minute, func() bool { return s.get(claim, made) && made.Status.Phase == corev1.ClaimBound })
	must(s.T, s.api.Status().Patch(s.Context(), made, client.RawPatch("application/merge-patch+json",
		[]byte(`{"status":{"currentVolumeAttributesClassName":"`+class.Name+`"}}`))))
}
