package benchmarkrun

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

// queueing creates a run. change makes it share a claim or a queue with other runs.
func (w *world) queueing(namespace, name string, change func(*v1alpha1.BenchmarkRun)) *v1alpha1.BenchmarkRun {
	w.Helper()
	spec := builders.Benchmark("b").Target("data").Steady("write", "2s").Run()
	planned, problems := plan.Make(spec, 1)
	must(w.T, problems.ToAggregate())
	run := record.New(record.Identity{Name: name, Namespace: namespace, Hash: "hash", Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: "b", UID: "6b0f7f0c-0000-4000-8000-000000000001"}}, spec, planned)
	run.UID = ""
	run.Spec.Run.Targets[0].Volumes[0].ClaimName = "claim-" + name
	change(run)
	must(w.T, api.Create(w.Context(), run))
	return run
}

func inQueue(name string) func(*v1alpha1.BenchmarkRun) {
	return func(run *v1alpha1.BenchmarkRun) { run.Labels = map[string]string{v1alpha1.LabelQueue: name} }
}

func onClaim(name string) func(*v1alpha1.BenchmarkRun) {
	return func(run *v1alpha1.BenchmarkRun) { run.Spec.Run.Targets[0].Volumes[0].ClaimName = name }
}

// live reports whether a run has begun and not yet ended.
func live(run *v1alpha1.BenchmarkRun) bool {
	return run.Status.StartTime != nil && run.Status.EndTime == nil
}

// finishes ends a live run as its last step would.
func (w *world) finishes(run *v1alpha1.BenchmarkRun) {
	w.Helper()
	must(w.T, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := api.Get(w.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			return err
		}
		record.Finished(run, nil, time.Now())
		return api.Status().Update(w.Context(), run)
	}))
}

func (w *world) all(namespaces ...string) []v1alpha1.BenchmarkRun {
	w.Helper()
	var all []v1alpha1.BenchmarkRun
	for _, namespace := range namespaces {
		var list v1alpha1.BenchmarkRunList
		must(w.T, api.List(w.Context(), &list, client.InNamespace(namespace)))
		all = append(all, list.Items...)
	}
	return all
}

// waits waits until a run reports what it waits for, and checks that it has not begun.
func (w *world) waits(run *v1alpha1.BenchmarkRun, reason, message string) {
	w.Helper()
	w.until(run, "waiting: "+message, func() bool {
		found := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
		return found != nil && found.Status == metav1.ConditionTrue && found.Reason == reason && found.Message == message
	})
	if run.Status.Stage != v1alpha1.StageQueued || len(run.Finalizers) > 0 || run.Status.StartTime != nil {
		w.Errorf("a run that waits has stage %s, finalizers %v, began at %v", run.Status.Stage, run.Finalizers, run.Status.StartTime)
	}
}

// check checks the invariants of every run.
func (w *world) check(run *v1alpha1.BenchmarkRun) {
	w.Helper()
	run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	invariants.CheckObject(w.T, run)
}

// TestRunsTakeTurns checks that only one run of a queue is live at a time, and that each of eight runs is live once, in
// order of creation. Two operators, both convinced that they lead, restart at random meanwhile.
func TestRunsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	var names []string
	for i := range 8 {
		// The name orders runs that were created in the same second.
		run := w.queueing(w.namespace, fmt.Sprintf("run-%c", 'z'-rune(i)), inQueue("nightly"))
		names = append(names, run.Name)
		if i%4 == 3 {
			w.nextSecond()
		}
	}
	runs := w.all(w.namespace)
	slices.SortFunc(runs, func(a, b v1alpha1.BenchmarkRun) int {
		if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	random := rand.New(rand.NewPCG(1, 1))
	stops := map[int]func(){}
	restart := func(i int) {
		if stops[i] != nil {
			stops[i]()
		}
		w.operate()
		stops[i] = w.stop
	}
	restart(0)
	restart(1)
	defer func() { stops[0](); stops[1]() }()
	for i := range runs {
		w.until(&runs[i], "live", func() bool { return live(&runs[i]) })
		if i+1 < len(runs) {
			next := &runs[i+1]
			w.until(next, "waiting for "+runs[i].Name, func() bool {
				found := meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionWaiting)
				return found != nil && found.Status == metav1.ConditionTrue && strings.HasPrefix(found.Message, "waits for run "+runs[i].Name+", which is ")
			})
		}
		for _, one := range w.all(w.namespace) {
			if live(&one) && one.Name != runs[i].Name {
				t.Errorf("%s and %s are both live", one.Name, runs[i].Name)
			}
		}
		restart(random.IntN(2))
		w.finishes(&runs[i])
	}
	if len(runs) != len(names) {
		t.Errorf("%d runs are there of %d", len(runs), len(names))
	}
}

func (w *world) boundTo(namespace, claim, driver, handle string) {
	w.Helper()
	made := w.naming(namespace, claim, namespace+"-"+claim, corev1.ClaimBound)
	w.temporary(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: made.Spec.VolumeName},
		Spec: corev1.PersistentVolumeSpec{Capacity: made.Spec.Resources.Requests, AccessModes: made.Spec.AccessModes,
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: claim, UID: made.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}}}})
}

// naming creates a claim that names a volume. The volume may belong to another claim.
func (w *world) naming(namespace, name, volume string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
	w.Helper()
	none := ""
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &none, VolumeName: volume,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}
	must(w.T, api.Create(w.Context(), claim))
	claim.Status.Phase = phase
	must(w.T, api.Status().Update(w.Context(), claim))
	return claim
}

// TestRunsThatShareStorage checks that runs wait for each other if they share a claim, a volume that has a claim in
// each of two namespaces, or a queue across namespaces. They do not wait if their storage or queue only has a similar
// name.
func TestRunsThatShareStorage(t *testing.T) {
	t.Parallel()
	w, other := newQuietWorld(t), newQuietWorld(t)
	w.more = []string{other.namespace}
	handle := "vol-" + w.namespace
	w.boundTo(w.namespace, "here", "csi.example.com", handle)
	w.boundTo(other.namespace, "there", "csi.example.com", handle)
	w.boundTo(other.namespace, "another", "csi.example.com", handle+"-2")
	w.boundTo(other.namespace, "other-driver", "csi.example.org", handle)
	// Any user can write the name of a volume into a claim.
	w.naming(other.namespace, "only-named", w.namespace+"-here", corev1.ClaimPending)
	w.naming(other.namespace, "of-another-claim", w.namespace+"-here", corev1.ClaimBound)
	w.operate()
	defer func() { w.stop() }()

	first := w.queueing(w.namespace, "first", onClaim("here"))
	w.until(first, "live", func() bool { return live(first) })
	same := w.queueing(w.namespace, "same-claim", onClaim("here"))
	w.waits(same, v1alpha1.ReasonWaitsForVolume, "waits for run first, which is live and uses claim here")
	w.nextSecond() // within one second, the namespace would determine the order
	volume := w.queueing(other.namespace, "same-volume", onClaim("there"))
	w.waits(volume, v1alpha1.ReasonWaitsForVolume, "waits for a run in another namespace, which is live and uses the volume of claim there, and for one more run")
	for name, change := range map[string]func(*v1alpha1.BenchmarkRun){
		"another-volume": onClaim("another"), "another-driver": onClaim("other-driver"), "claim-of-that-name": onClaim("here"), "not-bound": onClaim("nowhere"),
		"only-named": onClaim("only-named"), "of-another-claim": onClaim("of-another-claim"),
	} {
		free := w.queueing(other.namespace, name, change)
		w.until(free, "live", func() bool { return live(free) })
	}
	w.finishes(first)
	w.until(same, "live", func() bool { return live(same) })
	w.waits(volume, v1alpha1.ReasonWaitsForVolume, "waits for a run in another namespace, which is live and uses the volume of claim there")
	// A deleted run leaves the queue at once, whether it is waiting or live, and the next one begins.
	must(t, api.Delete(t.Context(), same))
	w.until(volume, "live", func() bool { return live(volume) })

	here := w.queueing(w.namespace, "queue-here", inQueue("shared"))
	w.until(here, "live", func() bool { return live(here) })
	there := w.queueing(other.namespace, "queue-there", inQueue("shared"))
	w.waits(there, v1alpha1.ReasonWaitsForQueue, "waits for a run in another namespace, which is live in queue shared")
	mine, theirs := w.queueing(w.namespace, "own-here", inQueue("own")), w.queueing(other.namespace, "own-there", inQueue("own"))
	w.until(mine, "live", func() bool { return live(mine) })
	w.until(theirs, "live", func() bool { return live(theirs) })
}

// TestWaitingRunLeaves checks that a waiting run disappears at once when it is deleted, ends at once when it is
// replaced, and never gets pods.
func TestWaitingRunLeaves(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.operate()
	defer func() { w.stop() }()
	first := w.queueing(w.namespace, "a-first", inQueue("q"))
	w.until(first, "live", func() bool { return live(first) })
	deleted, replaced, last := w.queueing(w.namespace, "b-deleted", inQueue("q")), w.queueing(w.namespace, "c-replaced", inQueue("q")), w.queueing(w.namespace, "d-last", inQueue("q"))
	w.waits(deleted, v1alpha1.ReasonWaitsForQueue, "waits for run a-first, which is live in queue q")
	w.waits(last, v1alpha1.ReasonWaitsForQueue, "waits for run a-first, which is live in queue q, and for 2 more runs")
	must(t, api.Delete(t.Context(), deleted))
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(deleted), deleted); !apierrors.IsNotFound(err) {
		t.Errorf("a run that waits is not gone when it is deleted: %v", err)
	}
	before := replaced.DeepCopy()
	replaced.Annotations = map[string]string{v1alpha1.AnnotationReplaced: "another run is due"}
	must(t, api.Patch(t.Context(), replaced, client.MergeFrom(before)))
	w.until(replaced, "over", func() bool { return replaced.Labels[v1alpha1.LabelOver] == "true" })
	failed := meta.FindStatusCondition(replaced.Status.Conditions, v1alpha1.ConditionFailed)
	if replaced.Status.StartTime != nil || failed == nil || failed.Reason != v1alpha1.ReasonReplaced || failed.Message != "another run is due" {
		t.Errorf("a run that was replaced before it began: began %v, %+v", replaced.Status.StartTime, failed)
	}
	w.check(replaced)
	var pods corev1.PodList
	must(t, api.List(t.Context(), &pods, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelRun: replaced.Name}))
	if len(pods.Items) > 0 {
		t.Errorf("%d pods were made for a run that never began", len(pods.Items))
	}
	w.waits(last, v1alpha1.ReasonWaitsForQueue, "waits for run a-first, which is live in queue q")
	w.finishes(first)
	w.until(last, "live", func() bool { return live(last) })
}

// TestLoadThatLingers checks that a run waits for the volume of an ended run while a pod of that run still exists. The
// pod is on a node that does not respond.
func TestLoadThatLingers(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.operate()
	defer func() { w.stop() }()
	first := w.queueing(w.namespace, "first", onClaim("data"))
	var pods corev1.PodList
	w.until(first, "live with its pod", func() bool {
		must(t, api.List(t.Context(), &pods, client.InNamespace(w.namespace)))
		return live(first) && len(pods.Items) == 1
	})
	pod := &pods.Items[0]
	must(t, api.SubResource("binding").Create(t.Context(), pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "cut-off"}}))
	w.finishes(first)
	w.until(first, "over", func() bool { return first.Labels[v1alpha1.LabelOver] == "true" })
	second := w.queueing(w.namespace, "second", onClaim("data"))
	w.waits(second, v1alpha1.ReasonWaitsForVolume, "waits for run first, which is live and uses claim data")
	must(t, api.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	w.until(second, "live", func() bool { return live(second) })
}

// TestRestoredRunIsNotRepeated checks that a run restored from a backup, without its status, does not begin again if it
// was live or had ended. A run whose operator died before it recorded the start does begin.
func TestRestoredRunIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	none := func(*v1alpha1.BenchmarkRun) {}
	interrupted := w.queueing(w.namespace, "interrupted", none)
	before := interrupted.DeepCopy()
	interrupted.Annotations = map[string]string{v1alpha1.AnnotationBegun: string(interrupted.UID)}
	must(t, api.Patch(t.Context(), interrupted, client.MergeFrom(before)))
	w.operate()
	defer func() { w.stop() }()
	w.until(interrupted, "live", func() bool { return live(interrupted) })
	first := w.queueing(w.namespace, "first", none)
	w.until(first, "live", func() bool { return live(first) })
	for name, restore := range map[string]func(*v1alpha1.BenchmarkRun){
		"ended": func(run *v1alpha1.BenchmarkRun) { run.Labels = map[string]string{v1alpha1.LabelOver: isOver} },
		"live": func(run *v1alpha1.BenchmarkRun) {
			run.Annotations, run.Finalizers = first.Annotations, first.Finalizers
		},
	} {
		run := w.queueing(w.namespace, name, restore)
		w.until(run, "begun or ended", func() bool { return run.Status.StartTime != nil || run.Status.EndTime != nil })
		failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
		if run.Status.StartTime != nil || failed == nil || failed.Reason != v1alpha1.ReasonStopped {
			t.Errorf("%s: the run began at %v, %+v", name, run.Status.StartTime, failed)
		}
		w.check(run)
	}
}

// TestForgedPodHoldsNobody checks that a pod that a user created does not keep a run waiting, although its owner is an
// ended run and its grace period is years long.
func TestForgedPodHoldsNobody(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.operate()
	defer func() { w.stop() }()
	first := w.queueing(w.namespace, "first", onClaim("data"))
	w.until(first, "live", func() bool { return live(first) })
	w.finishes(first)
	w.until(first, "over", func() bool { return first.Labels[v1alpha1.LabelOver] == isOver })
	years := int64(1e8)
	owner := metav1.NewControllerRef(first, v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	forged := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "forged", Labels: objects.RunLabels(first),
			OwnerReferences: []metav1.OwnerReference{*owner}},
		Spec: corev1.PodSpec{NodeName: "far", TerminationGracePeriodSeconds: &years,
			Containers: []corev1.Container{{Name: "it", Image: "none"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}},
	}
	must(t, api.Create(t.Context(), forged))
	w.wait("the operator does not see the pod", func() bool {
		must(t, api.Get(t.Context(), client.ObjectKeyFromObject(forged), forged))
		return forged.DeletionTimestamp != nil
	})
	second := w.queueing(w.namespace, "second", onClaim("data"))
	w.until(second, "live", func() bool { return live(second) })
}

// TestMayRun checks that a pod whose deletion was requested counts as running for some minutes only, whatever its grace
// period.
func TestMayRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ago, grace time.Duration
		want       bool
	}{
		"now":                            {grace: 2 * time.Minute, want: true},
		"an hour ago":                    {ago: time.Hour, grace: 2 * time.Minute},
		"now, to end in a month":         {grace: 720 * time.Hour, want: true},
		"an hour ago, to end in a month": {ago: time.Hour, grace: 720 * time.Hour},
		"an hour ago, without a period":  {ago: time.Hour},
		"a minute ago, without a period": {ago: time.Minute, want: true},
	} {
		grace := int64(test.grace.Seconds())
		deletion := metav1.NewTime(time.Now().Add(test.grace - test.ago))
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deletion, DeletionGracePeriodSeconds: &grace},
			Spec:       corev1.PodSpec{NodeName: "far"},
		}
		if got := mayRun(pod); got != test.want {
			t.Errorf("deleted %s: %t", name, got)
		}
	}
}
