package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// Result notes what came out of a step: figures and warnings of each of its targets. In a run that
// has failed a step in which no client measured anything has no result: the failure says why.
func Result(run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, clients []result.Client, now time.Time) {
	parts := make([]part, len(planned.Targets))
	var problems, stopped []string
	for i, target := range planned.Targets {
		parts[i] = partOf(run, planned, target, clients)
		problems = append(problems, parts[i].problems...)
		stopped = append(stopped, parts[i].stopped...)
	}
	// Where one fails the others are stopped: what failed is the cause.
	problems = append(problems, stopped...)
	fact := step(run, attempt)
	fact.EndTime = micro(now)
	fact.State = v1alpha1.StepSucceeded
	if len(problems) > 0 {
		fact.State = v1alpha1.StepFailed
		fact.Message = v1alpha1.Truncate(problems[0], maxStepMessage)
		if more := len(problems) - 1; more > 0 {
			tail := fmt.Sprintf("; and %d more", more)
			fact.Message = v1alpha1.Truncate(problems[0], maxStepMessage-len(tail)) + tail
		}
	}
	run.Status.Stage = v1alpha1.StageCollecting
	if failed(run) == nil {
		// What it said was how far the step is.
		run.Status.Message = ""
	}
	start, end := extent(clients)
	if start.IsZero() && failed(run) != nil {
		return
	}
	phase := phaseResult(run, planned)
	if !start.IsZero() && (phase.StartTime == nil || start.Before(phase.StartTime.Time)) {
		phase.StartTime = micro(start)
	}
	if phase.EndTime == nil || end.After(phase.EndTime.Time) {
		phase.EndTime = micro(end)
	}
	for i, target := range planned.Targets {
		made := result.Target(planned, target, parts[i].clients, parts[i].remarks...)
		// A result that is recorded again, by somebody who did not live to know that it was, takes
		// the place of the first.
		phase.Targets = slices.DeleteFunc(phase.Targets, func(t v1alpha1.TargetResult) bool { return t.Target == target })
		phase.Targets = append(phase.Targets, made)
	}
	run.Status.Display = result.Headline(run.Status.Phases)
	fit(run)
}

// part is one target's part in a step.
type part struct {
	clients []result.Client
	remarks []result.Remark
	// problems and stopped are, in words, clients that failed and that were ended before their time.
	problems, stopped []string
}

// partOf sorts out what the clients of a target, those that should be there and are not included,
// mean for the step.
func partOf(run *v1alpha1.BenchmarkRun, planned plan.Step, target string, clients []result.Client) part {
	var p part
	goOn := run.Spec.Run.Clients.OnLoss == v1alpha1.OnLossContinueDegraded
	there := map[int]bool{}
	for _, client := range clients {
		if client.Target != target {
			continue
		}
		there[client.Index] = true
		loss := lossOf(run, decide.ClientKey{Target: target, Index: client.Index})
		if goOn && loss != nil && (!client.Ended || client.Stopped) {
			p.missing(client.Index, loss.Reason)
			continue
		}
		p.clients = append(p.clients, client)
		name := fmt.Sprintf("client %s/%d", target, client.Index)
		switch {
		case client.Failure != "":
			p.problems = append(p.problems, name+": "+client.Failure+": "+client.FailureMessage)
		case !client.Ended:
			p.problems = append(p.problems, name+" reported no end")
		case client.Stopped:
			p.stopped = append(p.stopped, name+" was stopped before its time: "+client.StopMessage)
		}
	}
	for index := range expected(run, planned) {
		if there[index] {
			continue
		}
		if loss := lossOf(run, decide.ClientKey{Target: target, Index: index}); goOn && loss != nil {
			p.missing(index, loss.Reason)
			continue
		}
		p.problems = append(p.problems, fmt.Sprintf("client %s/%d took no part", target, index))
		p.remarks = append(p.remarks, result.Remark{Warning: v1alpha1.WarningResultIncomplete, Client: index, Message: "took no part"})
	}
	for _, lost := range run.Status.LostClients {
		if lost.Target == target && lost.Step == planned.ID && lost.Replaced {
			p.remarks = append(p.remarks, result.Remark{Warning: v1alpha1.WarningClientReplaced, Client: int(lost.Client),
				Message: "was lost (" + lost.Reason + "); the step was repeated with a replacement"})
		}
	}
	return p
}

func (p *part) missing(index int, reason string) {
	p.remarks = append(p.remarks, result.Remark{Warning: v1alpha1.WarningClientsMissing, Client: index,
		Message: "was lost (" + reason + "); the run went on without it, as onLoss asks"})
}

// expected is how many clients of each target take part in a step.
func expected(run *v1alpha1.BenchmarkRun, planned plan.Step) int {
	for _, step := range run.Spec.Steps {
		if step.ID == planned.ID {
			return int(step.Clients)
		}
	}
	return 0
}

// extent is from the first to the last measured I/O of all clients; zero where there was none.
func extent(clients []result.Client) (start, end time.Time) {
	for _, client := range clients {
		if client.IOStart.IsZero() {
			continue
		}
		if start.IsZero() || client.IOStart.Before(start) {
			start = client.IOStart
		}
		if client.IOEnd.After(end) {
			end = client.IOEnd
		}
	}
	return start, end
}

func phaseResult(run *v1alpha1.BenchmarkRun, planned plan.Step) *v1alpha1.PhaseResult {
	for i := range run.Status.Phases {
		if run.Status.Phases[i].Name == planned.Phase {
			return &run.Status.Phases[i]
		}
	}
	run.Status.Phases = append(run.Status.Phases, v1alpha1.PhaseResult{Name: planned.Phase, Kind: planned.Kind})
	return &run.Status.Phases[len(run.Status.Phases)-1]
}
