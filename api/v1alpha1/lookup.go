package v1alpha1

import (
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase returns the phase with the given name. It returns nil if there is none or the run is nil.
func (r *RunSpec) Phase(name string) *Phase {
	if r == nil {
		return nil
	}
	for i := range r.Phases {
		if r.Phases[i].Name == name {
			return &r.Phases[i]
		}
	}
	return nil
}

// WorkloadOf returns the workload that a phase sets for a target. It falls back to the phase's workload, then to the
// run's workload. It returns nil if none is set or phase is nil.
func (r *RunSpec) WorkloadOf(phase *Phase, target string) *Workload {
	if phase == nil {
		return nil
	}
	for i := range phase.TargetWorkloads {
		if phase.TargetWorkloads[i].Target == target {
			return &phase.TargetWorkloads[i].Workload
		}
	}
	if phase.Workload != nil {
		return phase.Workload
	}
	return r.Workload
}

// Result returns the result of a target in a phase, or nil if there is none.
func (s *BenchmarkRunStatus) Result(phase, target string) *TargetResult {
	for i := range s.Phases {
		if s.Phases[i].Name == phase {
			return s.Phases[i].Target(target)
		}
	}
	return nil
}

// TimeoutsStart returns the time from which the timeouts of a run are measured, or the zero time if no timeout has
// started. Timeouts start when the operator begins to create the run's pods or, if Kueue held the pods back before the
// first step, when Kueue admits them.
func (s *BenchmarkRunStatus) TimeoutsStart() time.Time {
	if s.StartTime == nil {
		return time.Time{}
	}
	start := s.StartTime.Time
	waits := meta.FindStatusCondition(s.Conditions, ConditionWaiting)
	switch {
	case waits == nil:
	case waits.Status == metav1.ConditionTrue && waits.Reason == ReasonWaitsForQuota && len(s.Steps) == 0:
		return time.Time{}
	case waits.Reason == ReasonQuotaGranted && waits.LastTransitionTime.After(start) && !s.stepBefore(waits.LastTransitionTime.Time):
		return waits.LastTransitionTime.Time
	}
	return start
}

// stepBefore reports whether a step was started before the given time.
func (s *BenchmarkRunStatus) stepBefore(at time.Time) bool {
	return slices.ContainsFunc(s.Steps, func(fact StepStatus) bool {
		return fact.StartTime != nil && fact.StartTime.Time.Before(at)
	})
}

// Attempt returns the attempt that counts for the result of a step, or nil if the step has not begun. This is the
// newest attempt, unless an earlier attempt succeeded and moved more bytes. For example, if a layout is repeated after
// the loss of a client, clients that still have their data write nothing.
func (s *BenchmarkRunStatus) Attempt(step string) *StepStatus {
	var counts *StepStatus
	for i := range s.Steps {
		fact := &s.Steps[i]
		if fact.ID != step || counts != nil && counts.State == StepSucceeded && counts.bytes() > fact.bytes() {
			continue
		}
		counts = fact
	}
	return counts
}

// bytes returns the number of bytes that the attempt moved on all targets.
func (s *StepStatus) bytes() int64 {
	sum := int64(0)
	for i := range s.IO {
		sum += s.IO[i].Bytes
	}
	return sum
}

// Target returns the result of a target, or nil if there is none.
func (p *PhaseResult) Target(name string) *TargetResult {
	for i := range p.Targets {
		if p.Targets[i].Target == name {
			return &p.Targets[i]
		}
	}
	return nil
}

// HasWarning reports whether a target's result has a warning of the given type.
func (t *TargetResult) HasWarning(kind WarningType) bool {
	return slices.ContainsFunc(t.Warnings, func(w Warning) bool { return w.Type == kind })
}

// TargetResults yields the result of each target of each phase, in order.
func TargetResults(phases []PhaseResult) iter.Seq2[*PhaseResult, *TargetResult] {
	return func(yield func(*PhaseResult, *TargetResult) bool) {
		for i := range phases {
			for j := range phases[i].Targets {
				if !yield(&phases[i], &phases[i].Targets[j]) {
					return
				}
			}
		}
	}
}

// ResultsValid reports whether the judged run was complete and valid.
func (r *JudgedRun) ResultsValid() bool {
	switch r.Reason {
	case ReasonPassed, ReasonObjectiveMissed, ReasonRegressed, ReasonNotJudged:
		return true
	}
	return false
}
