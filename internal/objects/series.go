package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// SeriesKey is where a run's series are in its ConfigMap.
const SeriesKey = "series.json.gz"

// SeriesName is the ConfigMap with what a run did over time.
func SeriesName(run string) string { return run + "-series" }

// Series is the ConfigMap with what a run did over time; it goes with the run.
func Series(run *v1alpha1.BenchmarkRun, encoded []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: SeriesName(run.Name), Namespace: run.Namespace,
			Labels:          RunLabels(run),
			OwnerReferences: ownedByRun(run),
		},
		BinaryData: map[string][]byte{SeriesKey: encoded},
	}
}
