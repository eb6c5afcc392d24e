package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/admission/admissiontest"
	"github.com/storagebench/storagebench/test/golden"
)

// create sends an object to the API server as a dry run, with strict field validation like kubectl's. It returns the
// object that would have been stored.
func create(t *testing.T, object map[string]any) (*unstructured.Unstructured, error) {
	t.Helper()
	wrapped := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	err := cluster.Create(t.Context(), wrapped, client.DryRunAll, client.FieldValidation("Strict"))
	return wrapped, err
}

func TestAcceptedAlikeWithoutAnAPIServer(t *testing.T) {
	needsCluster(t)
	cases, err := admissiontest.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			stored, err := create(t, c.Object)
			if err != nil {
				t.Fatalf("the API server refuses it: %v", err)
			}
			problems, err := admission.Check(t.Context(), c.Object)
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) > 0 {
				t.Fatalf("refused without an API server: %v", problems)
			}
			if diff := cmp.Diff(stored.Object["spec"], c.Object["spec"]); diff != "" {
				t.Errorf("defaults differ (-API server +without):\n%s", diff)
			}
		})
	}
}

func TestRefusedAlikeWithoutAnAPIServer(t *testing.T) {
	needsCluster(t)
	cases, err := admissiontest.Refused()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			_, err := create(t, c.Object)
			if err == nil {
				t.Fatal("the API server accepts it")
			}
			problems, checkErr := admission.Check(t.Context(), c.Object)
			if checkErr != nil {
				t.Fatal(checkErr)
			}
			if len(problems) == 0 {
				t.Fatal("accepted without an API server")
			}
			lines := words(t, err)
			fmt.Fprintf(&text, "== %s\n%s\n", c.Name, strings.Join(lines, "\n"))
			if c.UnknownField {
				return
			}
			comparePaths(t, err, problems)
		})
	}
	golden.Check(t, "refused", text.String())
}

// comparePaths checks that the API server and admission.Check name the same fields.
func comparePaths(t *testing.T, err error, problems []admission.Problem) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		t.Fatalf("no status with details: %v", err)
	}
	var theirs, ours []string
	for _, cause := range status.Status().Details.Causes {
		path := cause.Field
		if strings.Contains(cause.Message, "some validation rules were not checked") {
			continue // says only that there may be more problems
		}
		if path == "<nil>" {
			path = "metadata.name" // only metadata.name has rules for the whole object
		}
		theirs = append(theirs, path)
	}
	for _, problem := range problems {
		ours = append(ours, problem.Path)
	}
	slices.Sort(theirs)
	slices.Sort(ours)
	if diff := cmp.Diff(slices.Compact(theirs), slices.Compact(ours)); diff != "" {
		t.Errorf("fields differ (-API server +without):\n%s\n%v", diff, err)
	}
}

// words returns the lines of a refusal, sorted because the API server returns them in any order.
func words(t *testing.T, err error) []string {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("no answer of the API server: %v", err)
	}
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return []string{status.Status().Message}
	}
	var lines []string
	for _, cause := range details.Causes {
		if !strings.Contains(cause.Message, "some validation rules were not checked") {
			lines = append(lines, cause.Field+": "+cause.Message)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestSamples checks that the API server accepts every sample and stores the same spec as admission.Decode returns.
func TestSamples(t *testing.T) {
	needsCluster(t)
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	twins, err := filepath.Glob("../../config/samples/twins/*.yaml")
	if err != nil || len(twins) == 0 {
		t.Fatalf("no twins of samples: %v", err)
	}
	files = append(files, twins...)
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "../../config/samples/"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := admission.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				var written any = object.Benchmark
				switch {
				case object.Profile != nil:
					written = object.Profile
				case object.ClusterProfile != nil:
					written = object.ClusterProfile
				}
				fields := asMap(t, written)
				delete(fields, "status")
				wrapped := &unstructured.Unstructured{Object: fields}
				if wrapped.GetKind() != "ClusterWorkloadProfile" && wrapped.GetNamespace() == "" {
					wrapped.SetNamespace("default")
				}
				stored, err := create(t, fields)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(stored.Object["spec"], fields["spec"]); diff != "" {
					t.Errorf("spec differs (-API server +without):\n%s", diff)
				}
			}
		})
	}
}

func asMap(t *testing.T, object any) map[string]any {
	t.Helper()
	asJSON, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := &unstructured.Unstructured{}
	if err := wrapped.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	return wrapped.Object
}
