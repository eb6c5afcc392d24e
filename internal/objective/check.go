package objective

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Check names objectives that no result of a run could tell anything of, before hours are spent on it. The run's
// profiles have to be resolved.
func Check(objectives []v1alpha1.Objective, run *v1alpha1.RunSpec) field.ErrorList {
	var problems field.ErrorList
	for i := range objectives {
		path := field.NewPath("spec", "objectives").Index(i)
		for j := range run.Phases {
			if run.Phases[j].Name == objectives[i].Phase {
				if why := unfit(&objectives[i], run, &run.Phases[j]); why != "" {
					problems = append(problems, field.Invalid(path.Child("phase"), objectives[i].Phase, why))
				}
			}
		}
	}
	return problems
}

// unfit says why a phase has no such figure; empty where it may have.
func unfit(o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) string {
	kind := phase.Kind()
	inCells := kind == v1alpha1.PhaseRamp || kind == v1alpha1.PhaseSweep
	redrains := kind == v1alpha1.PhaseCooldown && phase.Cooldown.Redrain != nil
	drains := kind == v1alpha1.PhaseBurstDrain || redrains
	switch {
	case o.Burst != nil, o.TimeToBaseline != nil, o.Credits != nil, o.Baseline != nil, o.Refill != nil:
		if !drains {
			return fmt.Sprintf("it is a %s phase, and %s is measured by a burstDrain, or a cooldown with redrain: name one", word(kind), strings.SplitN(Figure(o), " of ", 2)[0])
		}
		return ""
	case o.Ratio != nil && o.Ratio.Of == "Compression":
		return ""
	case kind == v1alpha1.PhaseCooldown && !redrains:
		return "it is a cooldown, which loads nothing: name another phase"
	case inCells && o.Cell == nil:
		return fmt.Sprintf("it is a %s, which has a result for each cell: add cell, such as {jobs: 8}", word(kind))
	case !inCells && o.Cell != nil:
		return fmt.Sprintf("it is a %s phase, which has no cells: remove cell", word(kind))
	}
	if o.Latency != nil && !timesOperations(run, phase) {
		return "its program is not fio, and only fio times single operations: ask for throughput or iops"
	}
	return ""
}

// timesOperations reports whether any workload of a phase is fio's.
func timesOperations(run *v1alpha1.RunSpec, phase *v1alpha1.Phase) bool {
	workload := phase.Workload
	if workload == nil {
		workload = run.Workload
	}
	for i := range phase.TargetWorkloads {
		if phase.TargetWorkloads[i].Workload.Fio != nil {
			return true
		}
	}
	return workload != nil && workload.Fio != nil
}

// word is a kind as it is written in a file.
func word(kind v1alpha1.PhaseKind) string {
	if kind == "" {
		return "unknown"
	}
	return strings.ToLower(string(kind[:1])) + string(kind[1:])
}
