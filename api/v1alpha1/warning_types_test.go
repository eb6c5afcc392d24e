package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestSeverityTableIsAsDocumented checks that the table in the comment of WarningType matches the table in the code.
func TestSeverityTableIsAsDocumented(t *testing.T) {
	letters := map[string]v1alpha1.Severity{
		"I": v1alpha1.SeverityInfo, "W": v1alpha1.SeverityWarning, "D": v1alpha1.SeverityDisqualifying,
	}
	columns := [][]v1alpha1.PhaseKind{
		{v1alpha1.PhasePrepare},
		{v1alpha1.PhaseSteady, v1alpha1.PhaseRamp, v1alpha1.PhaseSweep},
		{v1alpha1.PhaseBurstDrain},
		{v1alpha1.PhaseCooldown},
	}
	documented := documentedRows(t)
	for _, row := range documented {
		warning := v1alpha1.WarningType(row[0])
		for i, kinds := range columns {
			want, ok := letters[row[i+1]]
			if !ok {
				t.Fatalf("%s: no severity is written %q", warning, row[i+1])
			}
			for _, kind := range kinds {
				if got := warning.Severity(kind); got != want {
					t.Errorf("%s in %s is %s, documented as %s", warning, kind, got, want)
				}
			}
		}
	}
	var names []v1alpha1.WarningType
	for _, row := range documented {
		names = append(names, v1alpha1.WarningType(row[0]))
	}
	slices.Sort(names)
	if !slices.Equal(names, v1alpha1.WarningTypes()) {
		t.Errorf("documented are\n%v\nthe table has\n%v", names, v1alpha1.WarningTypes())
	}
}

// TestEveryWarningHasASeverity checks that the table contains every constant of WarningType.
func TestEveryWarningHasASeverity(t *testing.T) {
	file := parse(t)
	known := v1alpha1.WarningTypes()
	count := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Warning") {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		count++
		value := strings.Trim(literal.Value, `"`)
		if spec.Names[0].Name != "Warning"+value {
			t.Errorf("the constant %s has the value %q", spec.Names[0].Name, value)
		}
		if !slices.Contains(known, v1alpha1.WarningType(value)) {
			t.Errorf("%s is not in the table", value)
		}
		return true
	})
	if count != len(known) {
		t.Errorf("%d constants, %d rows", count, len(known))
	}
}

func parse(t *testing.T) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "warning_types.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// documentedRows returns the rows of the comment's table: a name and four severities, each as one letter.
func documentedRows(t *testing.T) [][]string {
	t.Helper()
	var rows [][]string
	for _, group := range parse(t).Comments {
		for _, comment := range group.List {
			fields := strings.Fields(strings.TrimPrefix(comment.Text, "//"))
			if len(fields) > 5 && !slices.ContainsFunc(fields[1:5], func(f string) bool { return len(f) != 1 }) {
				rows = append(rows, fields)
			}
		}
	}
	if len(rows) < 20 {
		t.Fatalf("only %d rows are documented", len(rows))
	}
	return rows
}

// TestUnknownWarningDisqualifies checks that an unknown warning is never treated as harmless.
func TestUnknownWarningDisqualifies(t *testing.T) {
	if got := v1alpha1.WarningType("Odd").Severity(v1alpha1.PhaseSteady); got != v1alpha1.SeverityDisqualifying {
		t.Errorf("an unknown warning is %s", got)
	}
}
