package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/internal/phasekind"
)

// Least returns the minimum length of the step. If the step adapts to what it measures, this is the shortest time after
// which it may end.
func (s Step) Least() time.Duration {
	switch {
	case s.Adaptive():
		return s.WarmUp + min(s.MinDuration, s.Duration)
	case phasekind.Of(s.Kind).PicksRates && s.Cell > 0:
		return 0 // the search may end before it needs this step
	}
	return s.WarmUp + s.Duration
}

// checkDeadline reports a plan that cannot finish before the run's deadline, and warns of one that probably cannot.
func (m *maker) checkDeadline() {
	var least, expected time.Duration
	for _, step := range m.plan.Steps {
		least += step.Least()
		expected += max(step.Least(), step.Expected)
	}
	at := m.root.Child("activeDeadline")
	switch {
	case least >= m.deadline:
		m.problems = append(m.problems, field.Invalid(at, string(length(m.deadline)),
			fmt.Sprintf("the phases take at least %s: raise activeDeadline (at most 168h), or shorten them", length(least))))
	case expected >= m.deadline:
		m.warn(at, "the phases are expected to take %s, but the run fails after %s: raise activeDeadline (at most 168h), or shorten them",
			length(expected.Round(time.Second)), length(m.deadline))
	}
}
