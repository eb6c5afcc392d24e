package live

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
)

// State is the progress of a phase.
type State int

// The states of a phase.
const (
	Coming State = iota
	Running
	Done
	Failed
)

// View is the state of a run at one instant.
type View struct {
	Benchmark, Run string
	// Stage and Message are copied from the run's status, except that the stage of a cancelled run is Cancelled.
	Stage, Message string
	// Ended is true once the run has ended. Verdict is the reason why the run failed or is not valid; empty otherwise.
	Ended, Failed bool
	Verdict       string
	// Started is false while the run waits for its clients. Elapsed is the time since the run started.
	Started bool
	Elapsed time.Duration
	// Remaining is the expected time until the run ends, or a lower bound on it if AtLeast is true. End is the time at
	// which the run is expected to end.
	Remaining time.Duration
	AtLeast   bool
	End       time.Time
	Phases    []Phase
	// Now is the running step, or nil if none is running.
	Now *Step
	// Warnings lists the warnings so far, disqualifying ones first. It includes lost clients.
	Warnings []Warning
}

// Phase is one phase of the run.
type Phase struct {
	Name string
	// Does describes what this kind of phase does.
	Does  string
	State State
	// Steps is the number of steps in the phase, and StepsDone the number of those that have ended.
	Steps, StepsDone int
	// Took is the duration of the phase, or the time since its start if it has not ended.
	Took time.Duration
	// Expected is the planned duration. If AtLeast is true, it is only a lower bound, because the duration of some
	// steps is unknown. If AtMost is true, the phase may end earlier.
	Expected        time.Duration
	AtLeast, AtMost bool
	// Figures are the measured figures as text.
	Figures []string
	// Message is the reason for a failure.
	Message string
}

// Step is the running step.
type Step struct {
	ID, Label string
	Elapsed   time.Duration
	// Whole is the total duration of the step, or 0 if it is unknown. If AtMost is true, Whole is an upper bound.
	Whole  time.Duration
	AtMost bool
	// Share is the fraction of the step that is complete, from 0 to 1; negative if unknown.
	Share float64
	// Remaining is the time until the expected end; negative if unknown.
	Remaining time.Duration
	// Idle is true if the step loads no target.
	Idle bool
	// Clients is the number of clients that are generating load, summed over all targets. Of is the planned number of
	// clients.
	Clients, Of int
	Figures     *v1alpha1.LiveFigures
}

// Warning is a warning to show. Where names the part of the run that it concerns, or is empty for the whole run.
type Warning struct {
	Type, Where, Message string
	Disqualifying        bool
}

// Of returns the view of a run. planned is the plan that this version of the program
// derives from the run's specification.
func Of(run *v1alpha1.BenchmarkRun, planned *plan.Plan, now time.Time) View {
	status := &run.Status
	view := View{
		Benchmark: run.Spec.BenchmarkRef.Name, Run: run.Name, Stage: cmp.Or(status.Stage, v1alpha1.StagePending), Message: status.Message,
		Ended: status.EndTime != nil, Started: status.StartTime != nil,
	}
	for _, condition := range status.Conditions {
		switch {
		case condition.Type == v1alpha1.ConditionFailed && condition.Status == metav1.ConditionTrue:
			view.Failed = true
			view.Verdict = condition.Reason + ": " + condition.Message
			if view.Ended && v1alpha1.IsCancellation(condition.Reason) {
				view.Stage = "Cancelled"
			}
		case condition.Type == v1alpha1.ConditionValid && condition.Status == metav1.ConditionFalse && view.Ended && view.Verdict == "":
			view.Verdict = "not valid: " + condition.Reason + ": " + condition.Message
		}
	}
	if view.Started {
		until := now
		if view.Ended {
			until = status.EndTime.Time
		}
		view.Elapsed = max(0, until.Sub(status.StartTime.Time))
	}
	l := looker{run: run, plan: planned, now: now}
	for i := range run.Spec.Run.Phases {
		view.Phases = append(view.Phases, l.phase(i))
	}
	view.Now = l.step()
	if !view.Ended {
		view.Remaining, view.AtLeast = l.remaining(view.Now)
		view.End = now.Add(view.Remaining)
	}
	view.Warnings = warningsOf(run)
	return view
}

// looker derives the view of a run from its status and plan.
type looker struct {
	run  *v1alpha1.BenchmarkRun
	plan *plan.Plan
	now  time.Time
}

// newest returns the newest attempt of a step, or nil if the step has not begun.
func (l *looker) newest(id string) *v1alpha1.StepStatus {
	for i := len(l.run.Status.Steps) - 1; i >= 0; i-- {
		if fact := &l.run.Status.Steps[i]; fact.ID == id {
			return fact
		}
	}
	return nil
}

// CurrentPhase returns the phase of the newest step that has begun but not ended. It returns "" if there is no such
// step or the run has ended. Unlike Of, it does not need a plan as an argument.
func CurrentPhase(run *v1alpha1.BenchmarkRun) string {
	if run.Status.EndTime != nil {
		return ""
	}
	for _, fact := range slices.Backward(run.Status.Steps) {
		if fact.EndTime != nil {
			continue
		}
		for i := range run.Spec.Steps {
			if run.Spec.Steps[i].ID == fact.ID {
				return run.Spec.Steps[i].Phase
			}
		}
	}
	return ""
}

func (l *looker) phase(index int) Phase {
	spec := &l.run.Spec.Run.Phases[index]
	shown := Phase{Name: spec.Name, Does: phasekind.Of(spec.Kind()).Label}
	var begun bool
	for i := range l.plan.Steps {
		step := &l.plan.Steps[i]
		if step.PhaseIndex != index {
			continue
		}
		shown.Steps++
		shown.Expected += max(step.Expected, step.Least())
		shown.AtLeast = shown.AtLeast || step.Expected == 0 || step.Longer
		shown.AtMost = shown.AtMost || step.Adaptive()
		fact := l.newest(step.ID)
		if fact == nil {
			continue
		}
		begun = true
		switch {
		case fact.EndTime != nil:
			shown.StepsDone++
			if fact.StartTime != nil {
				shown.Took += max(0, fact.EndTime.Sub(fact.StartTime.Time))
			}
			if fact.State == v1alpha1.StepFailed {
				shown.State, shown.Message = Failed, fact.Message
			}
		case fact.StartTime != nil:
			shown.Took += max(0, l.now.Sub(fact.StartTime.Time))
		}
	}
	switch {
	case shown.State == Failed:
	case shown.Steps > 0 && shown.StepsDone == shown.Steps:
		shown.State = Done
	case begun:
		shown.State = Running
		if l.run.Status.EndTime != nil {
			shown.State = Failed
		}
	}
	if shown.State != Coming {
		shown.Figures = figuresOf(l.run, spec)
	}
	return shown
}

// step returns the running step, or nil if there is none.
func (l *looker) step() *Step {
	for i := range l.plan.Steps {
		planned := &l.plan.Steps[i]
		fact := l.newest(planned.ID)
		if fact == nil || fact.State != v1alpha1.StepRunning || fact.EndTime != nil || fact.StartTime == nil || l.run.Status.EndTime != nil {
			continue
		}
		shown := &Step{
			ID: planned.ID, Label: planned.Label(), Elapsed: max(0, l.now.Sub(fact.StartTime.Time)), Idle: planned.Purpose == plan.Idle, AtMost: planned.Adaptive(),
			Share: -1, Remaining: -1, Of: planned.Clients * len(planned.Targets),
		}
		if live := l.run.Status.Live; live != nil && live.Step == planned.ID {
			shown.Figures, shown.Clients = live, int(live.Clients)
		}
		if !planned.WorkBound() {
			shown.Whole = planned.WarmUp + planned.Duration
		}
		if shown.Whole == 0 && fact.PlannedEndTime != nil {
			shown.Whole = fact.PlannedEndTime.Sub(fact.StartTime.Time)
		}
		switch {
		case shown.Whole > 0 && !planned.Adaptive():
			shown.share(shown.Whole)
		case planned.WorkBound() && l.shareOfWork(planned, shown):
		case planned.Expected > 0 && !planned.Longer:
			shown.share(planned.Expected)
		}
		return shown
	}
	return nil
}

// share sets the completed share and the remaining time of a step with the given total duration.
func (s *Step) share(whole time.Duration) {
	s.Share = min(1, s.Elapsed.Seconds()/whole.Seconds())
	s.Remaining = max(0, whole-s.Elapsed)
}

// shareOfWork sets the completed share and the remaining time of a layout step from the bytes written so far. It
// returns false if it cannot compute them, for example before any bytes are written, or if the step is not a layout.
func (l *looker) shareOfWork(planned *plan.Step, shown *Step) bool {
	var total float64
	for _, each := range planned.NewBytes {
		total += float64(each) * float64(planned.Clients)
	}
	if planned.Purpose != plan.Prepare || total == 0 || shown.Figures == nil || len(shown.Figures.Points) < 2 {
		return false
	}
	points := shown.Figures.Points
	first, last := points[0], points[len(points)-1]
	if last.Bytes == 0 || last.Milliseconds <= first.Milliseconds {
		return false
	}
	shown.Share = min(1, float64(last.Bytes)/total)
	left := (total - float64(last.Bytes)) / float64(last.Bytes) * float64(last.Milliseconds-first.Milliseconds)
	shown.Remaining = time.Duration(max(0, left)) * time.Millisecond
	return true
}

// remaining returns the expected total time of the steps that have not ended. atLeast is true if the duration of one of
// these steps is unknown.
func (l *looker) remaining(live *Step) (remaining time.Duration, atLeast bool) {
	for i := range l.plan.Steps {
		planned := &l.plan.Steps[i]
		fact := l.newest(planned.ID)
		switch {
		case fact != nil && fact.EndTime != nil:
		case fact != nil && fact.State == v1alpha1.StepRunning && live != nil:
			remaining += max(0, live.Remaining)
			if live.Remaining < 0 {
				remaining, atLeast = remaining+max(0, planned.Expected-live.Elapsed), true
			}
		case planned.Expected > 0:
			remaining += planned.Expected
			atLeast = atLeast || planned.Longer
		default:
			remaining += planned.Least()
			atLeast = true
		}
	}
	return remaining, atLeast
}

func warningsOf(run *v1alpha1.BenchmarkRun) []Warning {
	var all []Warning
	add := func(where string, warnings []v1alpha1.Warning) {
		for _, one := range warnings {
			if one.Severity != v1alpha1.SeverityInfo {
				all = append(all, Warning{Type: string(one.Type), Where: where, Message: one.Message,
					Disqualifying: one.Severity == v1alpha1.SeverityDisqualifying})
			}
		}
	}
	add("", run.Status.Warnings)
	for phase, target := range v1alpha1.TargetResults(run.Status.Phases) {
		add(phase.Name+"/"+target.Target, target.Warnings)
	}
	for _, lost := range run.Status.LostClients {
		all = append(all, Warning{Type: "ClientLost", Where: fmt.Sprintf("%s/%d", lost.Target, lost.Client), Message: lost.Reason})
	}
	slices.SortStableFunc(all, func(a, b Warning) int {
		switch {
		case a.Disqualifying == b.Disqualifying:
			return 0
		case a.Disqualifying:
			return -1
		}
		return 1
	})
	return all
}
