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

// Tests that bring about what the operator needs a right for in a rare moment; see audit_test.go.

// TestANewInstallation: an operator that finds neither a master key nor a Lease nor a profile of its library makes them.
// It runs alone: a run of the key before would be lost.
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
			t.Fatal("nobody leads")
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

// TestGroupOfKueueEnds: Kueue keeps the pods of a group by a finalizer until the group is over for good, which the
// operator says at each of them when the run is. Kueue itself is not here: the test is its hand.
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
	// However the test ends, the namespace has to.
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

// allowKueue gives the operator the right of config/kueue, and waits until it has it.
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

// TestHistoryIsPruned: of the runs of a benchmark as many stay as it says.
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
		// Of the attempt that counts: one before it may have been told too late.
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

// TestOwnersAreHeldBackByRight: what the operator makes holds back the end of its owner, so that a deletion in the
// foreground waits for it. Some clusters, such as OpenShift, and this one, let only those make such an object who may
// update the owner's finalizers. No request shows those rights; here somebody lacks them.
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
		// A role that was made this moment is not known to the API server yet.
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

// TestOlderAPIServers: an API server before Kubernetes 1.34 has no streams of what is there, so that watches begin
// with lists. The operator asks the newer one of this cluster as it would ask them.
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

// TestAlikeEvents: an event that is like one of the same object a moment ago is counted there, which changes that
// one. A run that has ended tells each time that the API server refuses to let go of it.
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

// TestAttributesClassIsRead: what a claim was changed to after it was made is part of what a run says of its storage.
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

// modified makes a claim, and says of it what a driver does that has changed it to a class of the space's own.
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
