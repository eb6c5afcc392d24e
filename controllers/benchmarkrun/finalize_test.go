package benchmarkrun

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
)

// TestPodAfterTheEnd checks that a pod of the run is deleted even if it appears after the run was marked as over. A pod
// that has the run's label but not the run as its owner is kept.
func TestPodAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bound("data", corev1.ReadOnlyMany)
	run := w.start(small())
	w.until(run, "marked as over", func() bool { return over(run)() && run.Labels[v1alpha1.LabelOver] == isOver })
	made := func(name string, owners ...metav1.OwnerReference) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{v1alpha1.LabelRun: run.Name}, OwnerReferences: owners},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "client", Image: "fio:test"}}},
		}
		must(t, api.Create(t.Context(), pod))
		return pod
	}
	foreign := made("foreign")
	late := made("late", *metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind)))
	w.untilGone(late)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || !foreign.DeletionTimestamp.IsZero() {
		t.Errorf("the other owner's pod was touched: %v", err)
	}
}

// TestUnlabelledObjectsEndTheirRun checks that a run ends even if a user removed the benchmark label from its objects.
// The admission policy refuses to let the operator change or delete objects without that label: here a pod of a Kueue
// group and the NetworkPolicy.
func TestUnlabelledObjectsEndTheirRun(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.runPods()
	var refused atomic.Int32
	policy := func(object client.Object) error {
		if _, labelled := object.GetLabels()[v1alpha1.LabelBenchmark]; labelled {
			return nil
		}
		refused.Add(1)
		return apierrors.NewInvalid(object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetName(), nil)
	}
	w.newClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		inner, err := client.NewWithWatch(config, options)
		if err != nil {
			return nil, err
		}
		return interceptor.NewClient(inner, interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
				if err := policy(object); err != nil {
					return err
				}
				return c.Delete(ctx, object, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
				options ...client.PatchOption) error {
				if _, is := object.(*corev1.Pod); is {
					if err := policy(object); err != nil {
						return err
					}
				}
				return c.Patch(ctx, object, patch, options...)
			},
		}), nil
	}
	w.operate()
	t.Cleanup(func() { w.stop() })
	g := newGate(t)
	run := w.start(g.benchmark())
	g.waitFor(w, run, 0, 1)
	relabel := func(object client.Object, add map[string]string) {
		must(t, api.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		before, _ := object.DeepCopyObject().(client.Object)
		labels := object.GetLabels()
		delete(labels, v1alpha1.LabelBenchmark)
		maps.Copy(labels, add)
		object.SetLabels(labels)
		must(t, api.Patch(t.Context(), object, client.MergeFrom(before)))
	}
	relabel(w.pod("run-data-0-1"), map[string]string{"kueue.x-k8s.io/pod-group-name": "group"})
	relabel(objects.NetworkPolicy(objects.Settings{}, run), nil)
	g.open(t)
	w.until(run, "marked as over", func() bool { return over(run)() && run.Labels[v1alpha1.LabelOver] == isOver })
	if refused.Load() < 3 {
		t.Errorf("%d requests were refused, want two for the pod and one for the policy", refused.Load())
	}
}

// refusing makes the API server refuse the operator's requests for which refuses returns true, as an admission policy
// would.
func (w *world) refusing(refuses func(verb string, object client.Object) bool) {
	refusal := func(object client.Object) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "objects"}, object.GetName(),
			errors.New("policy test forbids it"))
	}
	w.newClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		inner, err := client.NewWithWatch(config, options)
		if err != nil {
			return nil, err
		}
		return interceptor.NewClient(inner, interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, object client.Object,
				options ...client.DeleteOption) error {
				if refuses("delete", object) {
					return refusal(object)
				}
				return c.Delete(ctx, object, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
				options ...client.PatchOption) error {
				if refuses("patch", object) {
					return refusal(object)
				}
				return c.Patch(ctx, object, patch, options...)
			},
		}), nil
	}
}

// TestRefusedDeletion checks that a run reports an object that the API server refuses to delete, and retries the
// deletion for a limited time. If it never succeeds, the run ends without it.
func TestRefusedDeletion(t *testing.T) {
	t.Parallel()
	for name, allow := range map[string]bool{"allowed later": true, "never allowed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newQuietWorld(t)
			var allowed atomic.Bool
			w.refusing(func(verb string, object client.Object) bool {
				_, is := object.(*networkingv1.NetworkPolicy)
				return is && verb == "delete" && !allowed.Load()
			})
			w.operate()
			t.Cleanup(func() { w.stop() })
			run := w.queueing(w.namespace, "run", func(*v1alpha1.BenchmarkRun) {})
			policy := objects.NetworkPolicy(objects.Settings{}, run)
			w.wait("the run has no NetworkPolicy", func() bool { return !w.gone(policy) })
			w.finishes(run)
			w.until(run, "told what is left", func() bool { return refusedDeletion(run) != nil })
			want := "allow the operator to delete them, or delete them yourself; delete NetworkPolicy run: "
			got := reason(run, v1alpha1.ConditionObjectsDeleted)
			if !strings.Contains(got, want) || !strings.Contains(got, "policy test forbids it") {
				t.Errorf("the condition is %q, want %q and the cause", got, want)
			}
			if len(run.Finalizers) == 0 || run.Labels[v1alpha1.LabelOver] == isOver {
				t.Errorf("the run did not wait: finalizers %v, labels %v", run.Finalizers, run.Labels)
			}
			w.check(run)
			allowed.Store(allow)
			must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				must(t, api.Get(t.Context(), client.ObjectKeyFromObject(run), run))
				run.Status.Message = "look again"
				if left := refusedDeletion(run); left != nil && !allow {
					left.LastTransitionTime.Time = left.LastTransitionTime.Add(-deletionPatience)
				}
				return api.Status().Update(t.Context(), run)
			}))
			w.until(run, "marked as over", func() bool { return over(run)() && run.Labels[v1alpha1.LabelOver] == isOver })
			if gone := w.gone(policy); gone != allow || (refusedDeletion(run) == nil) != allow {
				t.Errorf("the policy is gone: %t; the condition: %q", gone, reason(run, v1alpha1.ConditionObjectsDeleted))
			}
		})
	}
}

// TestRefusedStart checks that a run reports why it cannot begin, and begins once it can.
func TestRefusedStart(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	var allowed atomic.Bool
	w.refusing(func(verb string, object client.Object) bool {
		_, is := object.(*v1alpha1.BenchmarkRun)
		return is && verb == "patch" && !allowed.Load()
	})
	w.operate()
	t.Cleanup(func() { w.stop() })
	run := w.queueing(w.namespace, "run", func(*v1alpha1.BenchmarkRun) {})
	const want = "which keeps retrying: record the start of the run: add the finalizer: "
	w.until(run, "told why it cannot begin", func() bool { return strings.Contains(run.Status.Message, want) })
	allowed.Store(true)
	w.until(run, "live", func() bool { return live(run) })
}
