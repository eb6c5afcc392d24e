package cli

import (
	"testing"

	"github.com/storagebench/storagebench/internal/plan"
)

// TestCreditsOfSequentialSteps checks that the credits of steps with one target each are listed per target if there are
// several targets.
func TestCreditsOfSequentialSteps(t *testing.T) {
	step := func(target string, start, end float64) planStep {
		return planStep{Targets: []string{target},
			planned: plan.Step{Credits: map[string]plan.Credits{target: {StartPercent: start, EndPercent: end}}}}
	}
	for want, steps := range map[string][]planStep{
		"alpha 100 -> 40 %, zeta 100 -> 12 %": {step("zeta", 100, 12), step("alpha", 100, 70), step("alpha", 70, 40)},
		"100 -> 40 %":                         {step("alpha", 100, 70), step("alpha", 70, 40)},
	} {
		if got := creditsOf(steps); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
