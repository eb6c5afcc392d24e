package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

// text formats a plan with one line per step. It omits the workloads, which are in the specification.
func text(made plan.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "clientsPerTarget: %d\ndatasetHash: %s\n", made.ClientsPerTarget, made.DatasetHash)
	for _, warning := range made.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	for i := range made.Steps {
		fmt.Fprintln(&b, line(&made.Steps[i]))
	}
	return b.String()
}

func line(step *plan.Step) string {
	words := []string{fmt.Sprintf("%s: %s/%s phase=%s(%d,%d) on %s x %d", step.ID, step.Kind, step.Purpose, step.Phase, step.PhaseIndex,
		step.Number, strings.Join(step.Targets, ","), step.Clients)}
	add := func(set bool, format string, arguments ...any) {
		if set {
			words = append(words, fmt.Sprintf(format, arguments...))
		}
	}
	add(step.Processes != 0, "of %d ranks", step.Processes)
	add(step.Cell >= 0, "cell=%d", step.Cell)
	add(step.Kind == v1alpha1.PhaseRamp, "value=%d", cmp.Or(int(step.Overrides.Jobs), int(step.Overrides.QueueDepth), int(step.Overrides.Processes), step.Clients))
	add(step.Repeat, "repeat")
	add(step.Confirms, "confirms")
	add(step.Overrides.String() != "", "with %s", step.Overrides)
	add(step.Overrides.LayoutJobs != 0, "layoutJobs=%d", step.Overrides.LayoutJobs)
	add(step.Passes != 0, "passes=%d", step.Passes)
	add(step.UntilCreditsPercent != 0, "untilCredits=%d%%", step.UntilCreditsPercent)
	add(step.Redrain, "redrain")
	add(step.WarmUp != 0, "warmUp=%s", v1alpha1.DurationOf(step.WarmUp))
	add(step.Duration != 0, "duration=%s", v1alpha1.DurationOf(step.Duration))
	add(step.EndWhenSteady, "endWhenSteady")
	add(step.MinDuration != 0, "least=%s", v1alpha1.DurationOf(step.MinDuration))
	add(true, "limit=%s", v1alpha1.DurationOf(step.Limit))
	add(step.Expected != 0, "expected=%s", v1alpha1.DurationOf(step.Expected))
	for _, target := range slices.Sorted(maps.Keys(step.NewBytes)) {
		add(true, "%s+=%d", target, step.NewBytes[target])
	}
	for _, target := range slices.Sorted(maps.Keys(step.Credits)) {
		add(true, "%s:%.1f%%->%.1f%%", target, step.Credits[target].StartPercent, step.Credits[target].EndPercent)
	}
	return strings.Join(words, " ")
}
