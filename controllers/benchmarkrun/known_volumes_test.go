package benchmarkrun

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/internal/queue"
)

// runOnClaim creates a claim and a volume for it, and returns a run that uses the claim.
func runOnClaim(t *testing.T, r *Reconciler, name string, phase corev1.PersistentVolumeClaimPhase) queue.Run {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "volume-" + name}, Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume-" + name},
		Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "n", Name: name, UID: claim.UID}}}
	must(t, r.client.Create(t.Context(), claim))
	must(t, r.client.Create(t.Context(), volume))
	return queue.Run{Namespace: "n", Name: "run-" + name, UID: "uid-run-" + name, Claims: []queue.Named{claimNamed("n", name)}}
}

// TestKnownVolumes checks that the claims and volumes of other runs are read at most once a minute, no matter how often
// they are compared. Only unbound claims are read each time.
func TestKnownVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		r := offline(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object,
			options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, into, options...)
		}})
		const count = 100
		var others []queue.Run
		for i := range count {
			others = append(others, runOnClaim(t, r, fmt.Sprint(i), corev1.ClaimBound))
		}
		compare := func() {
			t.Helper()
			for _, other := range others {
				volumes, err := r.volumes.read(t.Context(), r, other)
				must(t, err)
				if len(volumes) != 1 || volumes[0].ID != "volume\x00volume-"+other.Name[len("run-"):] {
					t.Fatalf("%s: %+v", other.Name, volumes)
				}
			}
		}
		for range 50 {
			compare()
		}
		if reads != 2*count {
			t.Errorf("the claims and volumes of %d runs needed %d reads", count, reads)
		}
		time.Sleep(knownVolumesAge + time.Second)
		compare()
		if reads != 4*count {
			t.Errorf("after a minute they were read %d times in all", reads)
		}

		pending := runOnClaim(t, r, "pending", corev1.ClaimPending)
		for range 2 {
			if volumes, err := r.volumes.read(t.Context(), r, pending); err != nil || len(volumes) > 0 {
				t.Errorf("a claim that is not bound: %+v, %v", volumes, err)
			}
		}
		claim := &corev1.PersistentVolumeClaim{}
		must(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "pending"}, claim))
		claim.Status.Phase = corev1.ClaimBound
		must(t, r.client.Status().Update(t.Context(), claim))
		if volumes, err := r.volumes.read(t.Context(), r, pending); err != nil || len(volumes) != 1 {
			t.Errorf("the claim is bound: %+v, %v", volumes, err)
		}
	})
}
