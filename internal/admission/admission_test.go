package admission_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/admission/admissiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got; go test -update writes it):\n%s", path, diff)
	}
}

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
	compareGolden(t, "accepted.golden", text.String())
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
	compareGolden(t, "refused.golden", text.String())
}
