package convert_test

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/convert"
)

// yamlOf returns converted profiles as YAML and validates them against the API.
func yamlOf(t *testing.T, workloads []convert.Workload) string {
	t.Helper()
	text, err := convert.YAML(workloads, v1alpha1.WorkloadProfileKind)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admission.Decode([]byte(text)); err != nil {
		t.Errorf("the profile is not admitted: %v\n%s", err, text)
	}
	return text
}

func outcome(t *testing.T, workloads []convert.Workload, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return yamlOf(t, workloads)
}
