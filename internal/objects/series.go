package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// SeriesKey is the key under which a ConfigMap holds the time series.
const SeriesKey = "series.json.gz"

// SeriesName returns the name of the ConfigMap with the series of a step: <run>-series-<step>-<attempt>.
func SeriesName(run, step string, attempt int) string {
	return join(maxNameLength, run, "series", step, strconv.Itoa(attempt))
}

// Series returns the ConfigMap with the series of a step. It is immutable and deleted with the run. The operator
// therefore needs no permission to read, change or delete ConfigMaps. Such a permission would cover all ConfigMaps in
// the cluster.
func Series(run *v1alpha1.BenchmarkRun, step string, attempt int, encoded []byte) *corev1.ConfigMap {
	yes := true
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: SeriesName(run.Name, step, attempt), Namespace: run.Namespace,
			Labels:          RunLabels(run),
			OwnerReferences: ownedByRun(run),
		},
		Immutable:  &yes,
		BinaryData: map[string][]byte{SeriesKey: encoded},
	}
}
