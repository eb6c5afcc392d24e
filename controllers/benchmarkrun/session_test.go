package benchmarkrun

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
)

// TestResumeKeepsLosses checks that an operator that takes over a degraded run does not wait for its lost clients, even
// if a lost client's pod still exists, for example on a node that hangs.
func TestResumeKeepsLosses(t *testing.T) {
	for policy, want := range map[v1alpha1.OnLoss]decide.Connection{
		v1alpha1.OnLossContinueDegraded: decide.Lost, v1alpha1.OnLossRestartStep: decide.Connecting,
	} {
		t.Run(string(policy), func(t *testing.T) {
			r := offline(t, interceptor.Funcs{})
			run := crowded(t, "run", crowd("claim", 1, 2).OnLoss(policy, 1))
			run.Status.Steps = []v1alpha1.StepStatus{{ID: run.Spec.Steps[0].ID, Attempt: 1, StartTime: run.Status.StartTime}}
			run.Status.LostClients = []v1alpha1.LostClient{{Target: "t0", Client: 1, Time: run.Status.StartTime, Reason: "its node hangs"}}
			clients := r.resumed(t, run).conductor.Clients()
			if clients[0].Connection != decide.Connecting || clients[1].Connection != want {
				t.Errorf("got %+v", clients)
			}
		})
	}
}

// TestTakeoverAwaitsRemoval checks that an operator that takes over a run that is removing its data tries to reach the
// agents for the loss timeout before it gives them up.
func TestTakeoverAwaitsRemoval(t *testing.T) {
	for ago, want := range map[time.Duration]bool{30 * time.Second: false, 2 * time.Minute: true} {
		t.Run(ago.String(), func(t *testing.T) {
			r := offline(t, interceptor.Funcs{})
			r.options.LossTimeout = time.Minute
			run := crowded(t, "run", crowd("claim", 1, 1))
			run.Status.Steps = []v1alpha1.StepStatus{
				{ID: run.Spec.Steps[0].ID, Attempt: 1, StartTime: run.Status.StartTime}}
			began := time.Now().Truncate(time.Second)
			record.Finishing(run, began.Add(-5*time.Minute))
			s := r.resumed(t, run)
			snapshot, err := s.driver.Snapshot(run, s.conductor.Clients())
			must(t, err)
			if snapshot.ConductedSince.Before(began) {
				t.Errorf("conducted since %s, want not before %s", snapshot.ConductedSince, began)
			}
			snapshot.ConductedSince = s.now().Add(-ago)
			clients{r, run, s, observation{snapshot: snapshot}}.Finish(nil)
			if got := s.members[s.order[0]].lost; got != want {
				t.Errorf("lost: %t", got)
			}
		})
	}
}

// TestStorageOfDegradedRun checks that storage is described before the first step although a client is lost, if the run
// continues without that client.
func TestStorageOfDegradedRun(t *testing.T) {
	for policy, want := range map[v1alpha1.OnLoss]bool{
		v1alpha1.OnLossContinueDegraded: true, v1alpha1.OnLossRestartStep: false,
	} {
		run := crowded(t, "run", crowd("claim", 1, 2).OnLoss(policy, 1))
		if got := due(run, []decide.Client{{Connection: decide.Ready}, {Connection: decide.Lost}}); got != want {
			t.Errorf("%s: %t, want %t", policy, got, want)
		}
	}
}

// TestReplacementIsAwaited checks that a replacement is not considered lost before its pod is created, even if the
// recorded losses do not show that it replaced a client after the start of the step.
func TestReplacementIsAwaited(t *testing.T) {
	now := metav1.NowMicro()
	start := metav1.NewMicroTime(now.Add(time.Second))
	loss := func(client int32) v1alpha1.LostClient {
		return v1alpha1.LostClient{Target: "t0", Client: client, Time: &now, Reason: "killed", Replaced: true}
	}
	for name, lost := range map[string][]v1alpha1.LostClient{
		"lost before the planned start": {loss(0)},
		"too many losses to record":     slices.Repeat([]v1alpha1.LostClient{loss(1)}, 64),
	} {
		t.Run(name, func(t *testing.T) {
			r := offline(t, interceptor.Funcs{})
			run := crowded(t, "run", crowd("claim", 1, 2))
			run.Status.Steps = []v1alpha1.StepStatus{{ID: run.Spec.Steps[0].ID, Attempt: 1, StartTime: &start}}
			s := r.resumed(t, run)
			run.Status.LostClients = lost
			key := s.order[0]
			must(t, clients{r, run, s, observation{}}.Replace([]decide.ClientKey{key}))
			must(t, r.look(t.Context(), run, s, s.members[key], map[string]*corev1.Pod{}))
			if s.members[key].lost {
				t.Error("the replacement is lost before its pod is created")
			}
		})
	}
}

// TestReplacementAwaitsQuota checks that a replacement that waits for quota does not reset the start of a run's
// timeouts, which count from the admission of the run.
func TestReplacementAwaitsQuota(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	run := crowded(t, "run", crowd("claim", 1, 1))
	admitted := run.Status.StartTime.Add(3 * time.Hour).Truncate(time.Second)
	record.Waiting(run, false, v1alpha1.ReasonQuotaGranted, "", admitted)
	run.Status.Steps = []v1alpha1.StepStatus{{ID: run.Spec.Steps[0].ID, Attempt: 1, StartTime: &metav1.MicroTime{Time: admitted.Add(time.Minute)}}}
	s := r.resumed(t, run)
	key := s.order[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: objects.PodName(run, s.members[key].pod)},
		Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}}}
	clients := []decide.Client{{Key: key, Connection: decide.Connecting}}
	r.quota(run, s, map[string]*corev1.Pod{pod.Name: pod}, clients)
	if got := run.Status.TimeoutsStart(); !got.Equal(admitted) {
		t.Errorf("timeouts count from %v, want %v", got, admitted)
	}
	if clients[0].Message != "Kueue has not admitted its pod yet" || clients[0].Since.IsZero() {
		t.Errorf("got %+v", clients[0])
	}
}

// TestRefusedClaim checks that nothing is created while the API server refuses a dry run of the run's claims. Their
// StorageClass is unknown until then: they could bind to an existing volume.
func TestRefusedClaim(t *testing.T) {
	refused := true
	r := offline(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
		claim, isClaim := object.(*corev1.PersistentVolumeClaim)
		switch {
		case !isClaim:
			return c.Create(ctx, object, options...)
		case refused:
			return apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), claim.Name, errors.New("exceeded quota"))
		}
		claim.Spec.StorageClassName = new("default")
		return nil
	}})
	must(t, r.client.Create(t.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "with-data"}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: "default", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}))
	run := crowded(t, "run", brief().Spread(v1alpha1.SpreadAny).Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteMany, "10Gi")))
	s := r.resumed(t, run)
	must(t, r.inspect(t.Context(), run, s))
	if why := s.members[s.order[0]].why; s.claimed != nil || !strings.Contains(why, "create PersistentVolumeClaim") || !strings.Contains(why, "exceeded quota") {
		t.Errorf("inspected: %t, clients wait because %q", s.claimed != nil, why)
	}
	if more, err := r.populate(t.Context(), run, s, observation{}); more || err != nil || len(s.common) == 0 {
		t.Errorf("populated: %t, %v, %d objects left", more, err, len(s.common))
	}
	refused = false
	must(t, r.inspect(t.Context(), run, s))
	if s.claimed == nil || s.claimed.refusal == nil || !strings.Contains(s.claimed.refusal.Message, "existing PersistentVolume with-data") {
		t.Errorf("once the quota allows it: %+v", s.claimed)
	}
}

// TestLoadOfALostClientEnds checks that a degraded run deletes the pod of a lost client as soon as the loss is stored:
// the client may merely be unreachable and still load the storage.
func TestLoadOfALostClientEnds(t *testing.T) {
	for name, c := range map[string]struct {
		policy v1alpha1.OnLoss
		phase  corev1.PodPhase
		want   bool
	}{
		"it runs":      {v1alpha1.OnLossContinueDegraded, corev1.PodRunning, true},
		"it has ended": {v1alpha1.OnLossContinueDegraded, corev1.PodFailed, false},
		"the run ends": {v1alpha1.OnLossFailRun, corev1.PodRunning, false},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []corev1.Pod
			stored, deleted := false, false
			r := offline(t, interceptor.Funcs{
				List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
					if all, is := list.(*corev1.PodList); is {
						all.Items = slices.Clone(pods)
					}
					return nil
				},
				SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
					...client.SubResourcePatchOption) error {
					stored = true
					return nil
				},
				Delete: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.DeleteOption) error {
					if !stored || object.GetName() != "run-t0-1-1" {
						t.Errorf("%s is deleted, and the loss is stored: %t", object.GetName(), stored)
					}
					deleted = true
					return nil
				},
			})
			r.events = events.NewFakeRecorder(16)
			run := crowded(t, "run", crowd("claim", 1, 2).OnLoss(c.policy, 1))
			s := r.resumed(t, run)
			s.claimed = &claimed{} // claims are inspected
			for i, key := range s.order {
				pod := objects.Pod(r.options.Settings, run, s.members[key].pod, objects.Storage{})
				pod.UID, pod.Status.Phase = types.UID(pod.Name), []corev1.PodPhase{corev1.PodRunning, c.phase}[i]
				must(t, r.addProof(pod, run.UID))
				pods = append(pods, *pod)
			}
			s.members[s.order[1]].gone("unreachable for 1m0s")
			_, err := r.conduct(t.Context(), run)
			must(t, err)
			if !stored || deleted != c.want {
				t.Errorf("stored: %t, deleted: %t", stored, deleted)
			}
		})
	}
}

// TestRefusedRemovalIsQuiet checks that the refused deletion of lost clients' pods is reported once, even if progress
// messages replace the report. A refused pod is retried only after a while; the pod of another lost client is tried at
// once.
func TestRefusedRemovalIsQuiet(t *testing.T) {
	var pods []corev1.Pod
	tried := 0
	r := offline(t, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if all, is := list.(*corev1.PodList); is {
				all.Items = slices.Clone(pods)
			}
			return nil
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return nil
		},
		Delete: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.DeleteOption) error {
			tried++
			return apierrors.NewForbidden(corev1.Resource("pods"), object.GetName(), errors.New("keep it"))
		},
	})
	recorder := events.NewFakeRecorder(64)
	r.events = recorder
	run := crowded(t, "run", crowd("claim", 1, 3).OnLoss(v1alpha1.OnLossContinueDegraded, 1))
	must(t, r.client.Create(t.Context(), run.DeepCopy()))
	s := r.resumed(t, run)
	s.claimed = &claimed{} // claims are inspected
	for _, key := range s.order {
		pod := objects.Pod(r.options.Settings, run, s.members[key].pod, objects.Storage{})
		pod.UID, pod.Status.Phase = types.UID(pod.Name), corev1.PodRunning
		must(t, r.addProof(pod, run.UID))
		pods = append(pods, *pod)
	}
	first, second := s.members[s.order[1]], s.members[s.order[2]]
	first.gone("unreachable for 1m0s")
	for i, want := range []int{1, 1, 2, 3} {
		switch i {
		case 2:
			second.gone("unreachable for 1m0s")
		case 3:
			first.refusedAt = first.refusedAt.Add(-deletionBeat)
		}
		r.sessions.explained[client.ObjectKeyFromObject(run)] = time.Now().Add(-time.Minute)
		_, err := r.conduct(t.Context(), run)
		must(t, err)
		if tried != want {
			t.Fatalf("after reconcile %d pods were tried %d times, want %d", i+1, tried, want)
		}
	}
	told := 0
	for len(recorder.Events) > 0 {
		if strings.Contains(<-recorder.Events, v1alpha1.EventRequestRefused) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the refusal was reported %d times", told)
	}
}

// TestReplacementFollowsTheVolume checks that a replacement goes to the node of the pod that currently uses its volume,
// but not to a node that this pod is leaving.
func TestReplacementFollowsTheVolume(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	run := crowded(t, "run", crowd("claim", 1, 1))
	s := r.resumed(t, run)
	must(t, r.client.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: "claim-0"},
		Spec:       builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")}))
	for _, c := range []struct {
		on      string
		leaving bool
		want    string
	}{{on: "node-1", want: "node-1"}, {on: "node-2", want: "node-2"}, {on: "node-3", leaving: true}} {
		database := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: "database-on-" + c.on}}
		database.Spec.NodeName = c.on
		database.Spec.Volumes = []corev1.Volume{{Name: "data"}}
		database.Spec.Volumes[0].PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim-0"}
		if c.leaving {
			database.Finalizers = []string{"test.storagebench.dev/stay"}
		}
		must(t, r.client.Create(t.Context(), database))
		if c.leaving {
			must(t, r.client.Delete(t.Context(), database))
		}
		must(t, r.inspect(t.Context(), run, s))
		if got := s.storage("t0").Node; got != c.want {
			t.Errorf("the database is on %s, leaving: %t; the client is scheduled on %q", c.on, c.leaving, got)
		}
		must(t, r.client.Delete(t.Context(), database))
		must(t, clients{r, run, s, observation{}}.Replace(s.order))
	}
}

// TestClaimThatIsDeletedIsRecreated checks that a replacement waits until its claim is gone if the claim is being
// deleted, and then gets a new one. Neither the former pod nor another client's claim blocks this.
func TestClaimThatIsDeletedIsRecreated(t *testing.T) {
	r := offline(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, object client.Object,
		options ...client.CreateOption) error {
		object.SetUID(types.UID("uid of " + object.GetName()))
		return c.Create(ctx, object, options...)
	}})
	spec := builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")
	run := crowded(t, "run", crowd("claim", 1, 2).Template(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun, spec))
	s := r.resumed(t, run)
	populate := func(pods map[string]*corev1.Pod) {
		t.Helper()
		s.claimed, s.inspectAgain = &claimed{}, false // claims are inspected
		_, err := r.populate(t.Context(), run, s, observation{pods: pods})
		must(t, err)
	}
	read := func(name string, object client.Object) error {
		return r.client.Get(t.Context(), client.ObjectKey{Namespace: run.Namespace, Name: name}, object)
	}
	populate(nil)
	claim := &corev1.PersistentVolumeClaim{}
	for _, name := range []string{"run-t0-data-1", "run-t0-data-0"} {
		must(t, read(name, claim))
		claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
		must(t, r.client.Update(t.Context(), claim))
		must(t, r.client.Delete(t.Context(), claim))
	}
	pod := &corev1.Pod{}
	must(t, read("run-t0-0-1", pod))
	pod.Status.Phase = corev1.PodFailed
	must(t, clients{r, run, s, observation{}}.Replace(s.order[:1]))
	populate(map[string]*corev1.Pod{pod.Name: pod})
	if err := read("run-t0-0-1", pod); !apierrors.IsNotFound(err) {
		t.Errorf("the former pod keeps the claim: %v", err)
	}
	want := "create PersistentVolumeClaim run-t0-data-0: a previous object with this name is still being deleted"
	if why := s.members[s.order[0]].why; why != want {
		t.Errorf("the client waits because %q", why)
	}
	must(t, read("run-t0-data-0", claim))
	claim.Finalizers = nil
	must(t, r.client.Update(t.Context(), claim))
	populate(nil)
	must(t, read("run-t0-0-2", pod))
	if err := read("run-t0-data-0", claim); err != nil || !claim.DeletionTimestamp.IsZero() {
		t.Errorf("the claim is not created again: %v, %+v", err, claim.ObjectMeta)
	}
}
