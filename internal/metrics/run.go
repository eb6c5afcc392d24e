package metrics

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
)

// RunState is the state of a run as one word.
type RunState string

// Possible values of RunState.
const (
	// RunWaiting means that the run has not created a pod yet.
	RunWaiting RunState = "Waiting"
	// RunLive means that the run has started and not yet ended.
	RunLive RunState = "Live"
	// RunComplete means that every phase has its result.
	RunComplete RunState = "Complete"
	// RunFailed means that the run ended before it was complete.
	RunFailed RunState = "Failed"
)

// RunStates lists all states.
var RunStates = []RunState{RunWaiting, RunLive, RunComplete, RunFailed}

// StateOf returns the state of a run. It also works for a run that has ended and was trimmed in the cache.
func StateOf(run *v1alpha1.BenchmarkRun) RunState {
	switch {
	case meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete):
		return RunComplete
	case run.Status.EndTime != nil:
		return RunFailed
	case run.Status.StartTime != nil:
		return RunLive
	}
	return RunWaiting
}

// Run returns the state of a run and of its phases. It returns nothing for a run that has ended, because the run's
// results are exported for its benchmark, and series of ended runs would accumulate forever. interval is the scrape
// interval of the observations.
func Run(run *v1alpha1.BenchmarkRun, interval time.Duration) []Point {
	state := StateOf(run)
	if state != RunWaiting && state != RunLive {
		return nil
	}
	p := points{common: []string{run.Namespace, run.Spec.BenchmarkRef.Name, run.Name}}
	stage := run.Status.Stage
	if stage == "" {
		stage = v1alpha1.StagePending
	}
	p.add(runStage, 1, stage)
	p.add(runCreated, unixSeconds(run.CreationTimestamp.Time))
	p.addTime(runStart, run.Status.StartTime)
	if deadline := Deadline(run, interval); !deadline.IsZero() {
		p.add(runDeadline, unixSeconds(deadline))
	}
	if waiting := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting); waiting != nil && waiting.Status == "True" {
		p.add(runWaiting, 1, waiting.Reason)
	}
	p.add(runLost, float64(len(run.Status.LostClients)))
	p.progress(run)
	p.warnings(runWarnings, run)
	return p.all
}

// stepStates are the label values for the states of steps and phases.
var stepStates = []string{"Pending", "Running", "Succeeded", "Failed", "Skipped"}

// progress adds the number of steps in each state, and the state of each phase.
func (p *points) progress(run *v1alpha1.BenchmarkRun) {
	states := map[string]string{}
	for _, fact := range run.Status.Steps {
		// The attempts of a step are in order, so the last attempt determines the step's state.
		switch fact.State {
		case v1alpha1.StepStarting, v1alpha1.StepRunning:
			states[fact.ID] = "Running"
		case v1alpha1.StepSucceeded, v1alpha1.StepFailed, v1alpha1.StepSkipped:
			states[fact.ID] = string(fact.State)
		}
	}
	counts := map[string]int{}
	var phases []string
	ofPhase := map[string][]string{}
	for _, step := range run.Spec.Steps {
		state := states[step.ID]
		if state == "" {
			state = "Pending"
		}
		counts[state]++
		if !slices.Contains(phases, step.Phase) {
			phases = append(phases, step.Phase)
		}
		ofPhase[step.Phase] = append(ofPhase[step.Phase], state)
	}
	for _, state := range stepStates {
		p.add(runSteps, float64(counts[state]), state)
	}
	for _, phase := range phases {
		p.add(runPhase, 1, phase, phaseState(ofPhase[phase]))
	}
}

// phaseState derives the state of a phase from the states of its steps.
func phaseState(steps []string) string {
	all := func(states ...string) bool {
		return !slices.ContainsFunc(steps, func(step string) bool { return !slices.Contains(states, step) })
	}
	switch {
	case all("Pending"):
		return "Pending"
	case all("Skipped"):
		return "Skipped"
	case all("Succeeded", "Skipped"):
		return "Succeeded"
	case slices.Contains(steps, "Failed") && !slices.Contains(steps, "Running"):
		return "Failed"
	}
	return "Running"
}

// Deadline returns the time by which the current activity of a run must have ended, or the zero time if there is no
// limit, for example while the run waits in a queue. interval is the scrape interval of the observations.
func Deadline(run *v1alpha1.BenchmarkRun, interval time.Duration) time.Time {
	spec := &run.Spec.Run
	if leaving := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionDataRemoved); leaving != nil {
		// The removal of the run's data ends after orphanTimeout at the latest, because agents without a connection to
		// the operator have exited by then. The run may wait for late data of its observations after that.
		left := leaving.LastTransitionTime.Time
		if len(spec.Observations) > 0 {
			left = left.Add(observation.LateIntervals * interval)
		}
		return after(left, spec.OrphanTimeout)
	}
	begun := run.Status.TimeoutsStart()
	if begun.IsZero() {
		return time.Time{}
	}
	deadline := after(begun, spec.ActiveDeadline)
	if len(run.Status.Steps) == 0 {
		return earlier(deadline, after(begun, spec.StartTimeout))
	}
	if last := run.Status.Steps[len(run.Status.Steps)-1]; last.EndTime == nil && last.Deadline != nil {
		return earlier(deadline, last.Deadline.Time)
	}
	return deadline
}

func after(at time.Time, length v1alpha1.Duration) time.Time {
	parsed, err := length.Parse()
	if err != nil || parsed == 0 {
		return time.Time{}
	}
	return at.Add(parsed)
}

// earlier returns the earlier of two instants. It ignores zero instants.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// warnings counts the warnings of a run by type and severity.
func (p *points) warnings(family *Family, run *v1alpha1.BenchmarkRun) {
	type kind struct{ warning, severity string }
	counts := map[kind]int{}
	count := func(warnings []v1alpha1.Warning) {
		for _, warning := range warnings {
			counts[kind{string(warning.Type), string(warning.Severity)}]++
		}
	}
	count(run.Status.Warnings)
	for _, target := range v1alpha1.TargetResults(run.Status.Phases) {
		count(target.Warnings)
	}
	for of, n := range counts {
		p.add(family, float64(n), of.warning, of.severity)
	}
}
