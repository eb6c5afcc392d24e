package admission_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/admission/admissiontest"
	"github.com/storagebench/storagebench/test/golden"
)

func TestAcceptedGetTheirDefaults(t *testing.T) {
	cases, err := admissiontest.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, c := range cases {
		problems, err := admission.Check(t.Context(), c.Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range problems {
			t.Errorf("%s: %s: %s", c.Name, problem.Path, problem.Message)
		}
		asJSON, err := json.MarshalIndent(c.Object, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "== %s\n%s\n", c.Name, asJSON)
	}
	golden.Check(t, "accepted", text.String())
}

// TestGoClientsWriteBackWhatIsAccepted checks that an accepted object is still accepted after a Go client has read it
// and written it back, although this changes the form of quantities. BenchmarkRuns are left out: clients do not write
// them.
func TestGoClientsWriteBackWhatIsAccepted(t *testing.T) {
	cases, err := admissiontest.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func() any{
		v1alpha1.StorageBenchmarkKind:       func() any { return &v1alpha1.StorageBenchmark{} },
		v1alpha1.WorkloadProfileKind:        func() any { return &v1alpha1.WorkloadProfile{} },
		v1alpha1.ClusterWorkloadProfileKind: func() any { return &v1alpha1.ClusterWorkloadProfile{} },
	}
	for _, c := range cases {
		kind, _ := c.Object["kind"].(string)
		if kinds[kind] == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if problems, err := admission.Check(t.Context(), c.Object); err != nil || len(problems) > 0 {
				t.Fatalf("%v %v", problems, err)
			}
			stored, err := json.Marshal(c.Object)
			if err != nil {
				t.Fatal(err)
			}
			typed := kinds[kind]()
			if err := json.Unmarshal(stored, typed); err != nil {
				t.Fatal(err)
			}
			written, err := json.Marshal(typed)
			if err != nil {
				t.Fatal(err)
			}
			var object map[string]any
			if err := utiljson.Unmarshal(written, &object); err != nil {
				t.Fatal(err)
			}
			problems, err := admission.CheckUpdate(t.Context(), object, c.Object)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range problems {
				t.Errorf("%s: %s", problem.Path, problem.Message)
			}
		})
	}
}

func TestRefusedSayWhy(t *testing.T) {
	cases, err := admissiontest.Refused()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 40 {
		t.Errorf("%d cases, want at least 40", len(cases))
	}
	var text strings.Builder
	for _, c := range cases {
		problems, err := admission.Check(t.Context(), c.Object)
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			t.Errorf("%s: accepted", c.Name)
		}
		lines := make([]string, len(problems))
		for i, problem := range problems {
			if problem.Path == "" || problem.Message == "" {
				t.Errorf("%s: a problem without path or message: %+v", c.Name, problem)
			}
			lines[i] = fmt.Sprintf("%s: %s\n", problem.Path, problem.Message)
		}
		slices.Sort(lines)
		fmt.Fprintf(&text, "== %s\n%s", c.Name, strings.Join(lines, ""))
	}
	golden.Check(t, "refused", text.String())
}
