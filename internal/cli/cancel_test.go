package cli

import (
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/series"
)

// TestSeriesOfAStoppedRun checks that the series of a run are read before the garbage collector removes them together
// with the run, and that the result is taken from the last state of the run.
func TestSeriesOfAStoppedRun(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind},
		ObjectMeta: metav1.ObjectMeta{Name: "b-1", Namespace: "default", UID: "1"},
	}
	run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "one"}, {ID: "two"}}
	kinds := map[schema.GroupVersionResource]string{runResource: "BenchmarkRunList", corev1.SchemeGroupVersion.WithResource("configmaps"): "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, object(t, run))
	maps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	keep := func(step string) {
		text, err := (&series.Log{Steps: []series.Step{{ID: step, Targets: []series.Target{{Name: "data"}}}}}).Encode(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		made := &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: step, Namespace: "default", Labels: objects.RunLabels(run),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind, Name: run.Name, UID: run.UID}}},
			BinaryData: map[string][]byte{objects.SeriesKey: text},
		}
		if _, err := maps.Create(t.Context(), object(t, made), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	keep("one")
	changes := apiwatch.NewFake()
	client.PrependWatchReactor("benchmarkruns", clienttesting.DefaultWatchReactor(changes, nil))
	go func() {
		keep("two")
		ended := run.DeepCopy()
		ended.Status.EndTime = &metav1.MicroTime{Time: time.Unix(1000, 0)}
		changes.Modify(object(t, ended))
		changes.Modify(object(t, ended)) // blocks until the first one is handled
		for _, step := range []string{"one", "two"} {
			if err := maps.Delete(t.Context(), step, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
		changes.Delete(object(t, ended))
	}()
	document, err := (&cluster{client: client, namespace: "default"}).awaitEnd(t.Context(), Streams{Err: io.Discard}, run)
	if err != nil || document.EndTime == nil || document.Series.Step("one") == nil || document.Series.Step("two") == nil {
		t.Errorf("ended at %v, with the series %+v, %v", document.EndTime, document.Series, err)
	}
}

func object(t *testing.T, of runtime.Object) *unstructured.Unstructured {
	t.Helper()
	made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		t.Error(err)
	}
	return &unstructured.Unstructured{Object: made}
}
