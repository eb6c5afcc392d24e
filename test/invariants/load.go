package invariants

import (
	"slices"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// causedByLoad lists the disqualifying warnings that a busy machine alone can cause: if clients start late, the time
// that they measure together is too short.
var causedByLoad = []v1alpha1.WarningType{v1alpha1.WarningCommonWindowTooShort}

// DisqualifiedByLoad reports whether results are not valid. It fails the test if load alone cannot be the cause.
func DisqualifiedByLoad(t testing.TB, phases []v1alpha1.PhaseResult) bool {
	t.Helper()
	disqualified := false
	for _, phase := range phases {
		for _, target := range phase.Targets {
			for _, warning := range target.Warnings {
				if warning.Severity != v1alpha1.SeverityDisqualifying {
					continue
				}
				if disqualified = true; !slices.Contains(causedByLoad, warning.Type) {
					t.Errorf("phase %s, target %s is not valid: %s: %s", phase.Name, target.Target, warning.Type, warning.Message)
				}
			}
		}
	}
	return disqualified
}
