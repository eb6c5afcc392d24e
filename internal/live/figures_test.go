package live

import (
	"slices"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestOwnRates checks that a line shows at most two of the rates that a tool reports itself, and no other figure as a
// rate.
func TestOwnRates(t *testing.T) {
	t.Parallel()
	rates := []v1alpha1.MdtestRate{
		{Operation: "Tree removal", MeanOPSMilli: 12_500}, {Operation: "File creation", MeanOPSMilli: 5_000_000},
		{Operation: "File stat", MeanOPSMilli: 90_500_000},
	}
	for count, want := range map[int][]string{
		0: nil, 1: {"Tree removal 12.50/s"}, 3: {"File creation 5,000/s", "File stat 90,500/s"},
	} {
		target := v1alpha1.TargetResult{
			Mdtest: &v1alpha1.MdtestResult{Rates: rates[:count]}, Usage: &v1alpha1.UsageResult{Compression: "None"},
		}
		if got := targetFigures(&target, v1alpha1.PhaseSteady); !slices.Equal(got, want) {
			t.Errorf("%d rates: %q, want %q", count, got, want)
		}
	}
}
