package benchmarkrun

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// TestProof checks that a proof is valid only for the same kind, name, owner and operator.
func TestProof(t *testing.T) {
	r, another := offline(t, interceptor.Funcs{}), offline(t, interceptor.Funcs{})
	pod := func(name string, owner types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: owner}}}}
	}
	own := pod("run-data-0-1", "run")
	must(t, r.addProof(own, "run"))
	copied := func(to client.Object) client.Object {
		to.SetAnnotations(own.Annotations)
		return to
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: pod("run-data-0-1", "run").ObjectMeta}
	for name, c := range map[string]struct {
		object client.Object
		owner  types.UID
		want   bool
	}{
		"its own":              {own, "run", true},
		"none":                 {pod("run-data-0-1", "run"), "run", false},
		"of another name":      {copied(pod("run-data-0-2", "run")), "run", false},
		"of another owner":     {copied(pod("run-data-0-1", "other")), "other", false},
		"without that owner":   {copied(pod("run-data-0-1", "other")), "run", false},
		"of another kind":      {copied(claim), "run", false},
		"copied to a like pod": {copied(pod("run-data-0-1", "run")), "run", true},
	} {
		if got := r.hasProof(c.object, c.owner); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if another.hasProof(own, "run") {
		t.Error("another operator's key proves it too")
	}
}

// TestPodCopied checks that a pod that replaces a client's known pod is not accepted, even with a valid proof.
func TestPodCopied(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	run := crowded(t, "run", crowd("claim", 1, 1))
	s := r.resumed(t, run)
	m := s.members[s.order[0]]
	m.uid = "known"
	copied := objects.Pod(r.options.Settings, run, m.pod, objects.Storage{})
	copied.UID, copied.Status.PodIP = "copied", "127.0.0.1"
	must(t, r.addProof(copied, run.UID))
	pods := map[string]*corev1.Pod{}
	for _, pod := range r.ownPods(run, s, []corev1.Pod{*copied}) {
		pods[pod.Name] = &pod
	}
	must(t, r.look(t.Context(), run, s, m, pods))
	if facts := s.conductor.Clients()[0]; !m.lost || m.connected || !strings.Contains(facts.Message, "deleted and recreated") {
		t.Errorf("lost %t, connected %t: %s", m.lost, m.connected, facts.Message)
	}
}

// TestForgedPodIsAUser checks that an ended run's pod, if the operator created it, does not count as a user of its
// volumes. A pod that only names the run as its owner does count.
func TestForgedPodIsAUser(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	now := metav1.NowMicro()
	ended := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "ended", UID: "ended"},
		Status: v1alpha1.BenchmarkRunStatus{EndTime: &now}}
	must(t, r.client.Create(t.Context(), ended))
	owner := metav1.NewControllerRef(ended, v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "ended-data-0-1", OwnerReferences: []metav1.OwnerReference{*owner}},
		Spec:       corev1.PodSpec{NodeName: "far"},
	}
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "run", UID: "run"}}
	if !r.counts(t.Context(), run, pod) {
		t.Error("a pod that another user created does not count")
	}
	must(t, r.addProof(pod, ended.UID))
	if r.counts(t.Context(), run, pod) {
		t.Error("a pod of a run that has ended counts")
	}
}

// madeBefore creates a pod with the name of a run's client. It has everything of the operator's own pod
// that a user can imitate.
func (w *world) madeBefore(run *v1alpha1.BenchmarkRun) *corev1.Pod {
	w.Helper()
	pod := objects.Pod(objects.Settings{AgentImage: "own:1", FioImage: "own:1"}, run, objects.Client{Target: "data", Index: 0, Attempt: 1}, objects.Storage{})
	pod.Annotations[v1alpha1.AnnotationProof] = "made-up"
	must(w.T, api.Create(w.Context(), pod))
	return pod
}

// waitsFor waits until the run reports that the name of an object is taken.
func (w *world) waitsFor(run *v1alpha1.BenchmarkRun, object string) {
	w.Helper()
	want := "create " + object + ": an object with this name exists, but this operator did not create it: delete the object"
	w.until(run, "waiting for "+object, func() bool { return strings.Contains(run.Status.Message, want) })
}

// TestClaimMadeBefore checks that the error does not suggest deleting a user's claim that has the name of a template's
// claim: it may hold data.
func TestClaimMadeBefore(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	spec := builders.ClaimSpec(corev1.ReadWriteMany, "10Gi")
	run := crowded(t, "run", crowd("claim", 1, 1).Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, spec))
	claim := objects.Claims(run)[0]
	must(t, r.client.Create(t.Context(), claim.DeepCopy()))
	_, err := r.ensure(t.Context(), claim)
	if !errors.Is(err, errNotOurs) || ignoreRefusal(err) != nil ||
		!strings.Contains(err.Error(), "claimName") || strings.Contains(err.Error(), "delete") {
		t.Errorf("got %v", err)
	}
}

// TestPodMadeBefore checks that a pod that a user created under the name of a client gets no identity, although its
// owner is the run. The run reports the pod, and continues once it is deleted.
func TestPodMadeBefore(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.runPods()
	run := w.start(brief())
	foreign := w.madeBefore(run)
	w.operate()
	t.Cleanup(func() { w.stop() })
	w.waitsFor(run, "pod run-data-0-1")
	secret := &corev1.Secret{}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(foreign), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the user's pod got a Secret: %v", err)
	}
	must(t, api.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	if !foreign.DeletionTimestamp.IsZero() {
		t.Error("the user's pod was deleted")
	}
	// The next operator does not trust the pod either.
	w.stop()
	w.operate()
	w.waitsFor(run, "pod run-data-0-1")
	must(t, api.Delete(t.Context(), foreign, client.GracePeriodSeconds(0)))
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
	w.clean()
}

// TestSecretMadeBefore checks that the operator does not adopt a Secret that a user created under the name of a
// client's Secret.
func TestSecretMadeBefore(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	run := w.start(brief())
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "run-data-0-1"}, Data: map[string][]byte{objects.ConfigKey: []byte("{}")}}
	must(t, api.Create(t.Context(), foreign))
	w.operate()
	t.Cleanup(func() { w.stop() })
	w.waitsFor(run, "Secret run-data-0-1")
	must(t, api.Delete(t.Context(), foreign))
	w.runPods()
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
}

// TestSecretDeleted checks that the operator creates a client's Secret again if it is deleted before the pod starts.
func TestSecretDeleted(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	run := w.start(brief())
	w.operate()
	t.Cleanup(func() { w.stop() })
	secret, pod := &corev1.Secret{}, &corev1.Pod{}
	key := client.ObjectKey{Namespace: w.namespace, Name: "run-data-0-1"}
	exists := func() bool { return api.Get(t.Context(), key, secret) == nil }
	w.until(run, "the Secret exists", exists)
	must(t, api.Get(t.Context(), key, pod))
	must(t, api.Delete(t.Context(), secret))
	must(t, api.Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "run-data-0-1.1"},
		Type: corev1.EventTypeWarning, Reason: "FailedMount", Message: `MountVolume.SetUp failed for volume "config" : secret "run-data-0-1" not found`,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: pod.Name, UID: pod.UID}, LastTimestamp: metav1.Now()}))
	w.until(run, "the Secret exists again", exists)
	w.runPods()
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
}

// TestPolicyMadeBefore checks that the operator does not adopt a NetworkPolicy that a user created under the run's
// name, and creates no pods while it exists.
func TestPolicyMadeBefore(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	run := w.start(brief())
	foreign := objects.NetworkPolicy(objects.Settings{}, run)
	foreign.Spec.Ingress[0].From = nil
	must(t, api.Create(t.Context(), foreign))
	w.operate()
	t.Cleanup(func() { w.stop() })
	w.waitsFor(run, "NetworkPolicy run")
	if pods := w.podsOf(run); len(pods) > 0 {
		t.Errorf("%d pods were made", len(pods))
	}
}
