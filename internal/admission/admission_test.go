package admission_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

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
