package benchmarkrun

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/builders"
)

// observing returns a small benchmark with an observation of its write phase.
func observing() *builders.BenchmarkBuilder {
	return small().Mutate(func(run *v1alpha1.RunSpec) {
		run.Observations = []v1alpha1.Observation{{Name: "answer", Query: "answer", Unit: "%", Phases: []string{"write"}}}
	})
}

// TestObservations checks that the operator queries Prometheus for the run's namespace, and stores the values in the
// status and their course in a separate ConfigMap. The stand-in for Prometheus answers 42 to every query.
func TestObservations(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var namespaces []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := func(name string) float64 {
			value, _ := strconv.ParseFloat(r.FormValue(name), 64)
			return value
		}
		mu.Lock()
		namespaces = append(namespaces, r.URL.Query().Get("namespace"))
		mu.Unlock()
		var points []string
		start, step := number("start"), number("step")
		for i := 0; start+float64(i)*step < number("end")+step/2 && i < 1000; i++ {
			points = append(points, fmt.Sprintf("[%.3f,\"42\"]", start+float64(i)*step))
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[%s]}]}}`, strings.Join(points, ","))
	}))
	t.Cleanup(server.Close)
	w := newQuietWorld(t)
	w.prometheus = &prometheus.Config{URL: server.URL, Interval: time.Second, NamespaceParameter: "namespace"}
	w.runPods()
	w.operate()
	t.Cleanup(func() { w.stop() })

	run := w.start(observing())
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || run.Status.Observations == nil || len(run.Status.Observations.Series) != 1 || len(run.Status.Warnings) > 0 {
		t.Fatalf("the conditions are %+v, the observations %+v, the warnings %+v", run.Status.Conditions, run.Status.Observations, run.Status.Warnings)
	}
	if one := run.Status.Observations.Series[0]; one.Min != "42" || one.Max != "42" || one.Labels != `{a="b"}` || one.Points < 2 || one.Step != "01-write" {
		t.Errorf("the observation is %+v", one)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(namespaces) < 2 || slices.ContainsFunc(namespaces, func(n string) bool { return n != w.namespace }) {
		t.Errorf("the queries are for the namespaces %q, but the run is in %s", namespaces, w.namespace)
	}
	var kept corev1.ConfigMap
	must(t, api.Get(t.Context(), client.ObjectKey{Namespace: run.Namespace, Name: objects.SeriesName(run.Name, observationsPart, 1)}, &kept))
	log, err := series.Decode(kept.BinaryData[objects.SeriesKey])
	must(t, err)
	if !ownedBy(&kept, run.UID) || len(log.Observed) != 1 || len(log.Observed[0].Points) < 2 || log.Observed[0].Points[0].Value != 42 {
		t.Errorf("the stored series is %+v", log)
	}
}

// TestObservationsOfNobody checks that a run completes with a warning if Prometheus is not configured or not reachable.
func TestObservationsOfNobody(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	for want, config := range map[string]*prometheus.Config{
		"observations are not evaluated: no Prometheus is configured": nil,
		"observation answer: cannot query Prometheus":                 {URL: gone.URL, Interval: time.Second},
		"cannot query Prometheus: read the CA certificates":           {URL: gone.URL, Interval: time.Second, CAFile: "/nowhere"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			w := newQuietWorld(t)
			w.prometheus = config
			w.runPods()
			w.operate()
			t.Cleanup(func() { w.stop() })
			run := w.start(observing())
			w.until(run, "over", over(run))
			if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || !slices.ContainsFunc(run.Status.Warnings, func(one v1alpha1.Warning) bool {
				return one.Type == v1alpha1.WarningObservationFailed && strings.Contains(one.Message, want)
			}) {
				t.Errorf("the conditions are %+v, the warnings %+v", run.Status.Conditions, run.Status.Warnings)
			}
		})
	}
}
