package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const oneProfile = `---
apiVersion: storagebench.dev/v1alpha1
kind: WorkloadProfile
metadata: {name: mine}
spec:
  fio: {pattern: Random, readPercent: 0, blockSize: 16Ki, queueDepth: 4, datasetSize: 1Gi}
`

// applied runs `run` with a file against an API server that has no objects and forbids writes to one resource. It
// returns the accepted objects as JSON.
func applied(t *testing.T, file, refused string, arguments ...string) (objects string, got called) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		reason, code := metav1.StatusReasonNotFound, http.StatusNotFound
		if r.Method == http.MethodPatch {
			if path.Base(path.Dir(r.URL.Path)) != refused {
				object, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				objects += string(object) + "\n"
				_, _ = w.Write(object)
				return
			}
			reason, code = metav1.StatusReasonForbidden, http.StatusForbidden
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: reason, Code: int32(code), Details: &metav1.StatusDetails{Name: path.Base(r.URL.Path)},
		})
	}))
	got = call(file, append([]string{"run", "-f", "-", "--server", server.URL}, arguments...)...)
	server.Close()
	return objects, got
}

// TestProfilesAreAppliedFirst checks that profiles are applied before the benchmark: if the user may not write a
// profile, the benchmark stays unchanged and does not run, wherever the profile is in the file.
func TestProfilesAreAppliedFirst(t *testing.T) {
	profile := strings.Replace(oneProfile, "WorkloadProfile", "ClusterWorkloadProfile", 1)
	objects, got := applied(t, oneBenchmark+profile, "clusterworkloadprofiles")
	if got.code != 1 || !strings.Contains(got.stderr, "apply ClusterWorkloadProfile mine: ") || objects != "" {
		t.Errorf("applied %s:\n%s", objects, got)
	}
}

// TestRunOfAnExportedFile checks that the output of `kubectl get -o yaml` can be applied: fields that would conflict
// with a newer version of the object are dropped.
func TestRunOfAnExportedFile(t *testing.T) {
	file := strings.Replace(oneBenchmark, "{name: first}", `
  name: first
  uid: 8e2f6a1c-569f-4ead-9e09-3eb8d62a1746
  resourceVersion: "12"
  generation: 2
  annotations: {storagebench.dev/requested-at: yesterday, team: storage}
  managedFields:
  - manager: x
    operation: Apply
    apiVersion: storagebench.dev/v1alpha1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {}}`, 1)
	objects, got := applied(t, file+"status: {observedGeneration: 2}\n", "")
	if !strings.Contains(objects, `"annotations":{"team":"storage"}`) {
		t.Errorf("applied %s:\n%s", objects, got)
	}
	for _, field := range []string{"uid", "resourceVersion", "managedFields"} {
		if strings.Contains(objects, field) {
			t.Errorf("%s is applied: %s", field, objects)
		}
	}
}

// TestRunRefusesAnotherNamespace checks that an object of the file in a namespace other than that of -n is refused, and
// that nothing is applied.
func TestRunRefusesAnotherNamespace(t *testing.T) {
	for from, want := range map[string]string{
		"first": "StorageBenchmark first has namespace production, but -n is staging: ",
		"mine":  "WorkloadProfile mine has namespace production, but -n is staging: ",
	} {
		file := strings.Replace(oneBenchmark+oneProfile, "name: "+from, "name: "+from+", namespace: production", 1)
		objects, got := applied(t, file, "", "-n", "staging")
		if got.code != 1 || objects != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("applied %s, want %q:\n%s", objects, want, got)
		}
	}
}
