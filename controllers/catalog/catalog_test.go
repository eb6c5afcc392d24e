package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/test/builders"
)

// cluster is an API server with at most one ConfigMap, or one that fails with err.
type cluster struct {
	client.Reader
	found *corev1.ConfigMap
	err   error
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch {
	case c.err != nil:
		return c.err
	case c.found == nil || key.Name != DefaultName || key.Namespace != "system":
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	c.found.DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

func configMap(version, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: DefaultName, Namespace: "system", ResourceVersion: version}, Data: map[string]string{"mine.yaml": text}}
}

// knows reports whether a catalog contains the row of the ConfigMap.
func knows(c *limits.Catalog) bool {
	made, err := c.Describe(&v1alpha1.Target{Name: "t", Documented: &v1alpha1.Limits{Preset: "my-filer/large"}}, limits.Description{Volumes: []limits.Volume{{}}})
	return err == nil && len(made.Limits) == 1 && made.Limits[0].Baseline == 900_000_000 && made.Limits[0].Overridden
}

// TestSource checks that a changed ConfigMap takes effect at the next read. A faulty ConfigMap changes nothing and is
// reported once.
func TestSource(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	c := &cluster{}
	s, err := New(c, recorder, "system", DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what   string
		found  *corev1.ConfigMap
		err    error
		knows  bool
		note   string
		event  string
		metric float64
	}{
		{what: "none", metric: 1},
		{what: "a good one", found: configMap("1", builders.FilerLimits), knows: true, metric: 1},
		{what: "the same again", found: configMap("1", builders.FilerLimits), knows: true, metric: 1},
		{what: "a faulty one", found: configMap("2", strings.Replace(builders.FilerLimits, "baseline", "basline", 1)), knows: true,
			note: "ConfigMap storagebench-limits is invalid: override the catalog of limits: mine.yaml", event: "Warning LimitsFaulty using the last valid limits: override", metric: 0},
		{what: "the faulty one again", found: configMap("2", "x"), knows: true, note: "is invalid", metric: 0},
		{what: "binary data", found: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "3"}, BinaryData: map[string][]byte{"a": {1}}}, knows: true,
			note: "binaryData is not supported", event: "Warning LimitsFaulty", metric: 0},
		{what: "no right", knows: true, err: apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, DefaultName, nil),
			note: "cannot be read; allow the operator to get it: configmaps", metric: 0},
		{what: "no answer", err: apierrors.NewInternalError(errors.New("no leader")), knows: true,
			note: "cannot be read; the operator tries again every minute: Internal error occurred: no leader", metric: 0},
		{what: "repaired", found: configMap("4", builders.FilerLimits), knows: true, metric: 1},
		{what: "taken away", metric: 1},
	} {
		c.found, c.err = step.found, step.err
		catalog, notes := s.Current(t.Context())
		if got := knows(catalog); got != step.knows {
			t.Errorf("%s: the catalog has the row of the ConfigMap: %t", step.what, got)
		}
		if got := strings.Join(notes, "; "); step.note == "" && got != "" || !strings.Contains(got, step.note) {
			t.Errorf("%s: notes %q, want %q", step.what, got, step.note)
		}
		event := ""
		select {
		case event = <-recorder.Events:
		default:
		}
		if step.event == "" && event != "" || !strings.HasPrefix(event, step.event) {
			t.Errorf("%s: event %q, want %q", step.what, event, step.event)
		}
		if got := gauge(t, s); got != step.metric {
			t.Errorf("%s: the metric is %g", step.what, got)
		}
	}
}

func gauge(t *testing.T, s *Source) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Metric())
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "storagebench_limits_catalog_valid" {
		t.Fatalf("%v, %v", families, err)
	}
	return families[0].GetMetric()[0].GetGauge().GetValue()
}
