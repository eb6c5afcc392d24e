package prometheus_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
	server "github.com/storagebench/storagebench/test/prometheus"
)

// TestQueriesOfTheDocumentation checks the queries of the sample and of the guide with a real Prometheus.
func TestQueriesOfTheDocumentation(t *testing.T) {
	var sample v1alpha1.StorageBenchmark
	text, err := os.ReadFile("../../config/samples/observations.yaml")
	must(t, err)
	must(t, yaml.UnmarshalStrict(text, &sample))
	run := &sample.Spec.Run
	if text, err = os.ReadFile("../../docs/observations.md"); err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(string(text), -1) {
		for _, query := range regexp.MustCompile("`([^`]*(?:_total|_average|_length|_bytes)\\b[^`]*)`").FindAllStringSubmatch(line, -1) {
			run.Observations = append(run.Observations, v1alpha1.Observation{Name: query[1], Query: query[1]})
		}
	}
	if len(run.Observations) < 14 {
		t.Errorf("only %d queries are found", len(run.Observations))
	}
	held := server.Holding(t, "# TYPE a gauge\na 1 1\n")
	for _, w := range observation.Refused(run, evaluate(t, held.URL(), observation.Checks(run, time.Now()))) {
		t.Error(w.Message)
	}
}
