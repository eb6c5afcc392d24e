package benchmarkrun

import (
	"context"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// ofClass returns a benchmark with a claim template of a StorageClass that no other test uses.
func (w *world) ofClass(lifetime v1alpha1.ClaimLifetime) *builders.BenchmarkBuilder {
	class := w.namespace + "-class"
	spec := builders.ClaimSpec(corev1.ReadWriteMany, "10Gi")
	spec.StorageClassName = &class
	return brief().Spread(v1alpha1.SpreadAny).Template(v1alpha1.ClaimShared, lifetime, spec)
}

// available creates an unbound volume of that class.
func (w *world) available(size string) *corev1.PersistentVolume {
	w.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-pv"}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: w.namespace + "-class", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce},
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "vol-" + w.namespace}}}}
	w.temporary(volume)
	return volume
}

// TestTemplateOfExistingVolume checks that a run ends before it creates a claim that the cluster would bind to an
// existing volume.
func TestTemplateOfExistingVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.available("100Gi")
	w.refused(w.start(w.ofClass(v1alpha1.ClaimForRun)), v1alpha1.ReasonClaimUnfit, "spec.run.targets[0].volumes[0].claimTemplate",
		"the cluster would bind claim run-data-data to the existing PersistentVolume "+w.namespace+"-pv", "set claimTemplate.allowExistingVolumes to true")
	var list corev1.PersistentVolumeClaimList
	must(t, api.List(t.Context(), &list, client.InNamespace(w.namespace)))
	if len(list.Items) > 0 {
		t.Errorf("claim %s was made", list.Items[0].Name)
	}
}

// TestKeptClaimOfExistingVolume checks that a run does not use the benchmark's claim if it is bound to a volume that
// was not provisioned for it.
func TestKeptClaimOfExistingVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	volume := w.available("10Gi")
	benchmark := w.ofClass(v1alpha1.ClaimForBenchmark)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b-data-data", Labels: map[string]string{v1alpha1.LabelBenchmark: "b"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StorageBenchmarkKind, Name: "b",
				UID: types.UID("6b0f7f0c-0000-4000-8000-000000000001")}}},
		Spec: *benchmark.Obj().Spec.Run.Targets[0].Volumes[0].ClaimTemplate.Spec.DeepCopy(),
	}
	claim.Spec.VolumeName = volume.Name
	must(t, api.Create(t.Context(), claim))
	claim.Status.Phase = corev1.ClaimBound
	must(t, api.Status().Update(t.Context(), claim))
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: w.namespace, Name: claim.Name, UID: claim.UID}
	must(t, api.Update(t.Context(), volume))
	w.refused(w.start(benchmark), v1alpha1.ReasonClaimUnfit,
		"claim b-data-data is bound to PersistentVolume "+volume.Name+", which was not provisioned for it and may contain data")
}

// TestGroupOfProvisionedVolume checks that pods have an fsGroup only if their volume is known to be provisioned for
// them: the kubelet changes the group of existing files.
func TestGroupOfProvisionedVolume(t *testing.T) {
	t.Parallel()
	for name, groups := range map[string]bool{"provisioned": true, "not known": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newQuietWorld(t)
			if !groups {
				w.withoutVolumes()
			} else {
				w.available("1Gi") // too small for the claim
			}
			w.operate()
			defer func() { w.stop() }()
			run := w.start(w.ofClass(v1alpha1.ClaimForRun))
			var pods corev1.PodList
			w.until(run, "there with its pods", func() bool {
				must(t, api.List(t.Context(), &pods, client.InNamespace(w.namespace)))
				return len(pods.Items) > 0
			})
			if slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return (pod.Spec.SecurityContext.FSGroup != nil) != groups }) {
				t.Errorf("fsGroup %v, want one: %t", pods.Items[0].Spec.SecurityContext.FSGroup, groups)
			}
		})
	}
}

// TestClaimThatCannotBeTried checks that a run fails after its start timeout, and reports the cause, if the API server
// refuses the dry run that determines the StorageClass of a claim.
func TestClaimThatCannotBeTried(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int32{
		"a webhook that sets no code":    http.StatusBadRequest,
		"a webhook that does not answer": http.StatusInternalServerError,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const said = "the policy does not allow it"
			w := newQuietWorld(t)
			w.newClient = func(config *rest.Config, options client.Options) (client.Client, error) {
				inner, err := client.NewWithWatch(config, options)
				if err != nil {
					return nil, err
				}
				return interceptor.NewClient(inner, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
						if _, is := object.(*corev1.PersistentVolumeClaim); is {
							return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: said}}
						}
						return c.Create(ctx, object, options...)
					},
				}), nil
			}
			w.operate()
			t.Cleanup(func() { w.stop() })
			spec := builders.ClaimSpec(corev1.ReadWriteMany, "10Gi") // without a class
			run := w.start(brief().StartTimeout("1s").Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, spec))
			w.refused(run, v1alpha1.ReasonStartTimeout, "create PersistentVolumeClaim run-data-data: "+said)
		})
	}
}

// TestIgnoreRefusal checks which errors of the API server are ignored until the next regular reconcile.
func TestIgnoreRefusal(t *testing.T) {
	t.Parallel()
	for code, ignored := range map[int32]bool{
		http.StatusBadRequest: true, http.StatusForbidden: true, http.StatusNotFound: true,
		http.StatusUnprocessableEntity: true, http.StatusConflict: false, http.StatusTooManyRequests: false,
		http.StatusInternalServerError: false,
	} {
		err := ignoreRefusal(&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code}})
		if (err == nil) != ignored {
			t.Errorf("code %d: %v, ignored should be %t", code, err, ignored)
		}
	}
}
