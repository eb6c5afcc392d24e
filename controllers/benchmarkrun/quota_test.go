package benchmarkrun

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
)

// kueue imitates Kueue's webhook, which is not available here: it adds a scheduling gate to the queued pods of the
// namespace.
func (w *world) kueue() {
	w.Helper()
	name := "kueue." + w.namespace
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}}}},
			Variables: []admissionv1.Variable{},
			MatchConditions: []admissionv1.MatchCondition{{Name: "queued",
				Expression: "has(object.metadata.labels) && 'kueue.x-k8s.io/queue-name' in object.metadata.labels"}},
			Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{
				Expression: `Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: "kueue.x-k8s.io/admission"}]}}`}}},
		},
	}
	must(w.T, api.Create(w.Context(), policy))
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}
	must(w.T, api.Create(w.Context(), binding))
	w.Cleanup(func() {
		_ = api.Delete(context.Background(), binding) // the namespace is no longer in use
		_ = api.Delete(context.Background(), policy)
	})
	holds := func() bool {
		probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe", Labels: map[string]string{v1alpha1.LabelKueueQueue: "q"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
		must(w.T, api.Create(w.Context(), probe))
		must(w.T, api.Delete(w.Context(), probe, client.GracePeriodSeconds(0)))
		return len(probe.Spec.SchedulingGates) == 1
	}
	w.wait("the policy does not hold", holds)
}

func (w *world) podsOf(run *v1alpha1.BenchmarkRun) []corev1.Pod {
	w.Helper()
	var list corev1.PodList
	must(w.T, api.List(w.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}))
	return list.Items
}

// admit removes the scheduling gates of a run's pods, as Kueue does once there is quota.
func (w *world) admit(run *v1alpha1.BenchmarkRun) {
	w.Helper()
	for _, pod := range w.podsOf(run) {
		before := pod.DeepCopy()
		pod.Spec.SchedulingGates = nil
		must(w.T, api.Patch(w.Context(), &pod, client.StrategicMergeFrom(before)))
	}
}

// evict marks and deletes a run's pods, as Kueue does.
func (w *world) evict(run *v1alpha1.BenchmarkRun, reason string) {
	w.Helper()
	for _, pod := range w.podsOf(run) {
		before := pod.DeepCopy()
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "TerminationTarget", Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.Now(), Reason: reason, Message: "Preempted to accommodate a workload"})
		must(w.T, api.Status().Patch(w.Context(), &pod, client.MergeFrom(before)))
		must(w.T, client.IgnoreNotFound(api.Delete(w.Context(), &pod)))
	}
}

const quotaMessage = "2 of 2 clients wait for quota in Kueue's LocalQueue team"

// longAgo makes a run appear to have waited for quota for an hour, longer than its timeouts. It also changes the
// message, so that the test can detect the next reconcile.
func (w *world) longAgo(run *v1alpha1.BenchmarkRun) {
	w.Helper()
	must(w.T, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := api.Get(w.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			return err
		}
		run.Status.StartTime.Time = run.Status.StartTime.Add(-time.Hour)
		waits := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
		waits.LastTransitionTime.Time = waits.LastTransitionTime.Add(-time.Hour)
		waits.Message = "of an hour ago"
		return api.Status().Update(w.Context(), run)
	}))
}

// queuedForKueue creates a run whose timeouts are shorter than its wait for quota, and waits until it is queued.
func (w *world) queuedForKueue(name string, load v1alpha1.Engine) *v1alpha1.BenchmarkRun {
	w.Helper()
	// Each run has its own claim, so that runs do not wait for each other.
	spec := builders.Benchmark("b").Target(name).Clients(2).Steady("write", "10m").WithLoad(load).Mutate(func(run *v1alpha1.RunSpec) {
		run.StartTimeout, run.ActiveDeadline = "10m", "20m"
	}).Run()
	planned, problems := plan.Make(spec, 1)
	must(w.T, problems.ToAggregate())
	run := record.New(record.Identity{Name: name, Namespace: w.namespace, Hash: "hash", Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: "b", UID: "6b0f7f0c-0000-4000-8000-000000000001"}}, spec, planned)
	run.UID = ""
	run.Labels = map[string]string{v1alpha1.LabelKueueQueue: "team"}
	must(w.T, api.Create(w.Context(), run))
	w.until(run, "waiting for quota", func() bool {
		found := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
		return found != nil && found.Reason == v1alpha1.ReasonWaitsForQuota && found.Status == metav1.ConditionTrue &&
			found.Message == quotaMessage
	})
	if run.Status.Stage != v1alpha1.StageQueued {
		w.Errorf("stage %s while it waits for quota", run.Status.Stage)
	}
	return run
}

// TestCertificatesOutlastKueue checks that a run's certificates remain valid during a long wait for Kueue, which does
// not count towards the run's deadlines.
func TestCertificatesOutlastKueue(t *testing.T) {
	t.Parallel()
	run := crowded(t, "run", crowd("claim", 1, 1))
	if valid := validity(run); valid.NotAfter.After(valid.NotBefore.Add(60 * 24 * time.Hour)) {
		t.Errorf("without Kueue they are valid until %s", valid.NotAfter)
	}
	run.Labels = map[string]string{v1alpha1.LabelKueueQueue: "team"}
	if valid := validity(run); valid.NotAfter.Before(run.Status.StartTime.Add(longestQuotaWait)) {
		t.Errorf("with Kueue they are valid until %s", valid.NotAfter)
	}
}

// TestKueueWithoutRights checks that a run with a LocalQueue fails before it creates any pod if the operator may not
// patch pods (the option for Kueue is off), with a message that names the remedy.
func TestKueueWithoutRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group, "networking.k8s.io", "events.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"secrets", "persistentvolumeclaims", "events"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
	}}
	w.temporary(role)
	w.temporary(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: w.namespace}}})
	w.rest = rest.CopyConfig(restConfig)
	w.rest.Impersonate = rest.ImpersonationConfig{UserName: w.namespace}
	w.operate()
	run := w.start(brief().Mutate(func(run *v1alpha1.RunSpec) {
		run.Clients.Template = &v1alpha1.PodTemplate{Labels: map[string]string{v1alpha1.LabelKueueQueue: "team"}}
	}))
	w.until(run, "over", over(run))
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	for _, want := range []string{v1alpha1.LabelKueueQueue, `"team"`, "kueue.enabled=true", "config/kueue"} {
		if failed.Status != metav1.ConditionTrue || !strings.Contains(failed.Message, want) {
			t.Errorf("Failed is %s, %q; want it to say %q", failed.Status, failed.Message, want)
		}
	}
	if pods := w.podsOf(run); len(pods) > 0 {
		t.Errorf("it has %d pods", len(pods))
	}
	plain := w.startAs("plain", brief())
	w.until(plain, "over", over(plain))
	if !is(plain, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Errorf("a run without a LocalQueue failed: %s", reason(plain, v1alpha1.ConditionFailed))
	}
}

// TestReplacementInAGroup checks that a client is replaced although Kueue, by a finalizer, keeps the failed pod until
// the replacement exists.
func TestReplacementInAGroup(t *testing.T) {
	t.Parallel()
	w, gate := newWorld(t), newGate(t)
	run := w.start(builders.Benchmark("b").Target("data").Clients(1).Prepare("layout").Steady("write", "10m").WithLoad(gate.load()))
	gate.waitFor(w, run, 0)
	const finalizer = "kueue.x-k8s.io/managed"
	first := w.podsOf(run)[0]
	before := first.DeepCopy()
	first.Finalizers = []string{finalizer}
	must(t, api.Patch(t.Context(), &first, client.MergeFrom(before)))
	must(t, w.kubelet.Kill(first.UID))
	gate.open(t)
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || len(run.Status.LostClients) != 1 || !run.Status.LostClients[0].Replaced {
		t.Errorf("a client whose pod is kept by a finalizer was not replaced: %+v, %+v", run.Status.LostClients, run.Status.Conditions)
	}
	must(t, api.Get(t.Context(), client.ObjectKeyFromObject(&first), &first))
	if first.DeletionTimestamp == nil {
		t.Error("the failed pod was not deleted")
	}
	before = first.DeepCopy()
	first.Finalizers = nil
	must(t, api.Patch(t.Context(), &first, client.MergeFrom(before)))
}

// TestQuota checks that waiting for quota does not count towards the start timeout, not even if the operator restarts,
// and that the run completes once it is admitted. A run fails as preempted if its quota is withdrawn, and as stopped if
// its Workload is deleted.
func TestQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kueue()
	run := w.queuedForKueue("admitted", program(`echo data >"$0/file"`, "$(DATA)"))
	ends := map[string]*v1alpha1.BenchmarkRun{
		"WorkloadEvictedDueToPreempted": w.queuedForKueue("preempted", newGate(t).load()),
		"WorkloadDeleted":               w.queuedForKueue("deleted", newGate(t).load()),
	}
	w.stop()
	w.longAgo(run)
	w.operate()
	w.until(run, "looked at again", func() bool {
		return meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting).Message == quotaMessage
	})
	if !is(run, v1alpha1.ConditionFailed, metav1.ConditionFalse) {
		t.Errorf("it failed while it waited for quota: %s", reason(run, v1alpha1.ConditionFailed))
	}
	w.admit(run)
	w.until(run, "over", over(run))
	w.check(run)
	waited := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || waited.Status != metav1.ConditionFalse || waited.Reason != v1alpha1.ReasonQuotaGranted {
		t.Errorf("the run did not complete once it was admitted: %+v", run.Status.Conditions)
	}
	for reason, want := range map[string]string{
		"WorkloadEvictedDueToPreempted": v1alpha1.ReasonPreempted, "WorkloadDeleted": v1alpha1.ReasonStopped,
	} {
		run := ends[reason]
		w.admit(run)
		w.until(run, "running", func() bool { return run.Status.Stage == v1alpha1.StageRunning })
		w.evict(run, reason)
		w.until(run, "over", over(run))
		failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
		if failed.Status != metav1.ConditionTrue || failed.Reason != want {
			t.Errorf("a run whose pods Kueue deleted (%s) failed with %s: %s", reason, failed.Reason, failed.Message)
		}
		w.check(run)
	}
}
