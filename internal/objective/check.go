package objective

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Check finds objectives that no result of the run could decide, before hours are spent on the run. Resolve the
// run's profiles first.
func Check(objectives []v1alpha1.Objective, run *v1alpha1.RunSpec) field.ErrorList {
	var problems field.ErrorList
	for i := range objectives {
		path := field.NewPath("spec", "objectives").Index(i)
		for j := range run.Phases {
			if run.Phases[j].Name == objectives[i].Phase {
				if why := unsuitable(&objectives[i], run, &run.Phases[j]); why != "" {
					problems = append(problems, field.Invalid(path.Child("phase"), objectives[i].Phase, why))
				}
			}
		}
	}
	return problems
}

// unsuitable returns the reason why a phase cannot have the objective's figure, or "" if it can.
func unsuitable(o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) string {
	kind := phase.Kind()
	inCells := phasekind.Of(kind).InCells()
	redrains := kind == v1alpha1.PhaseCooldown && phase.Cooldown.Redrain != nil
	drains := kind == v1alpha1.PhaseBurstDrain || redrains
	switch {
	case o.Burst != nil, o.TimeToBaseline != nil, o.Credits != nil, o.Baseline != nil, o.Refill != nil:
		if !drains {
			return fmt.Sprintf("it is a %s phase, but only burstDrain and refill phases measure %s: name one", phasekind.Name(kind), strings.SplitN(Figure(o), " of ", 2)[0])
		}
		return ""
	case o.Ratio != nil && o.Ratio.Of == "Compression":
		return ""
	case kind == v1alpha1.PhaseCooldown && !redrains:
		return "it is a cooldown without load: name another phase"
	case inCells && o.Cell == nil:
		return fmt.Sprintf("it is a %s phase, which has a result for each cell: add cell, such as {jobs: 8}", phasekind.Name(kind))
	case !inCells && o.Cell != nil:
		return fmt.Sprintf("it is a %s phase, which has no cells: remove cell", phasekind.Name(kind))
	}
	if o.Latency != nil && !timesOperations(o, run, phase) {
		return "only fio measures latency, but its workload is another engine: use throughput or iops"
	}
	return ""
}

// timesOperations reports whether, on a target of the objective, the phase's workload uses a tool that times single
// operations.
func timesOperations(o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) bool {
	return slices.ContainsFunc(run.Targets, func(t v1alpha1.Target) bool {
		workload := run.WorkloadOf(phase, t.Name)
		return (o.Target == "" || o.Target == t.Name) && workload != nil && engines.Of(&workload.Engine).TimesOperations
	})
}
