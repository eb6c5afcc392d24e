package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// SeriesKey is where the series are in a ConfigMap.
const SeriesKey = "series.json.gz"

// SeriesName is the ConfigMap with what a step did over time: <run>-series-<step>-<attempt>.
func SeriesName(run, step string, attempt int) string {
	return join(maxNameLength, run, "series", step, strconv.Itoa(attempt))
}

// Series is the ConfigMap with what a step did over time. It is made once and goes with the run, so that the operator
// needs no right to read, change or delete any ConfigMap: cluster-wide it would have that on everybody's.
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
