package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestGoClientsMayUpdate checks that a Go client can update a benchmark with sizes in plain bytes: the API must accept
// them in the form in which the client writes them back.
func TestGoClientsMayUpdate(t *testing.T) {
	needsCluster(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sizes"}}
	must(t, cluster.Create(t.Context(), namespace))
	written := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(`apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: plain, namespace: sizes}
spec:
  suspend: true
  run:
    targets: [{name: data, claimName: data}]
    workload: {fio: {pattern: Random, readPercent: 0, blockSize: 64000, datasetSize: 6400000}}
    phases:
    - {name: write, steady: {duration: 10s}}
    - {name: large, steady: {duration: 10s}, override: {fio: {blockSize: 512000}}}
`), &written.Object))
	must(t, cluster.Create(t.Context(), written))
	benchmark := &v1alpha1.StorageBenchmark{}
	must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(written), benchmark))
	benchmark.Spec.Suspend = new(false)
	must(t, cluster.Update(t.Context(), benchmark))
	fio := benchmark.Spec.Run.Workload.Fio
	if fio.BlockSize.Value() != 64000 || fio.DatasetSize.Value() != 6400000 || benchmark.Spec.Run.Phases[1].Override.Fio.BlockSize.Value() != 512000 {
		t.Errorf("the sizes changed: %+v", fio)
	}
}
