package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/plan"
)

// TestWrittenStatements checks that a plan and the announcement of a run always say how much data will be written, even
// if it is none.
func TestWrittenStatements(t *testing.T) {
	for name, test := range map[string]struct {
		written plan.Written
		want    []string
	}{
		"nothing":  {plan.Written{}, []string{"nothing"}},
		"a layout": {plan.Written{LayoutBytes: 2e6}, []string{"2.000 MB to lay out data"}},
		"all": {plan.Written{LayoutBytes: 2e6, MeasuredBytes: 3e6, Unbounded: []string{"mixed"}},
			[]string{"2.000 MB to lay out data", "up to 3.000 MB in measured phases (from rates and documented limits)",
				"an unknown amount in mixed (depends on the storage)"}},
	} {
		if got := writtenParts(test.written); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if got, want := writtenText(test.written), "writes "+strings.Join(test.want, ", "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
