package plan

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// AsWritten returns the problems of a plan with the field paths that the user wrote. Resolve has replaced shorthand
// fields before the plan is made, so the plan's own problems name the replacements. run is the specification before
// Resolve.
func AsWritten(run *v1alpha1.RunSpec, problems field.ErrorList) field.ErrorList {
	for i, problem := range problems {
		written := *problem
		written.Field = PathAsWritten(run, problem.Field)
		problems[i] = &written
	}
	return problems
}

// PathAsWritten replaces the field path at the start of a text, such as a plan's warning, with the path of the field
// that the user wrote.
func PathAsWritten(run *v1alpha1.RunSpec, text string) string {
	root := field.NewPath("spec", "run")
	replace := func(at *field.Path, long, short string) {
		if rest, found := strings.CutPrefix(text, at.String()+"."+long); found && (rest == "" || strings.ContainsAny(rest[:1], ".: [")) {
			text = at.String() + "." + short + rest
		}
	}
	for i := range run.Targets {
		at, target := root.Child("targets").Index(i), &run.Targets[i]
		if target.ClaimName != "" {
			replace(at, "volumes[0].claimName", "claimName")
			replace(at, "volumes", "claimName")
		}
		if target.Documented == nil {
			replace(at, "documented", "limits")
		}
	}
	for i := range run.Phases {
		at, phase := root.Child("phases").Index(i), &run.Phases[i]
		if phase.Override != nil && phase.Workload == nil {
			replace(at, "workload", "override")
		}
		if phase.Refill != nil {
			replace(at, "cooldown.redrain", "refill")
			replace(at, "cooldown", "refill")
		}
	}
	return text
}
