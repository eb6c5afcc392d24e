package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// Result records the outcome of a step: the figures and warnings of each of its targets. In a failed run, a step in
// which no client did I/O has no result: the failure explains the absence.
func Result(run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, clients []result.Client, now time.Time) {
	contributions := make([]contribution, len(planned.Targets))
	concluded := !concludedAt(run, attempt).IsZero()
	var problems, stopped []string
	if planned.Purpose != plan.Idle {
		shared := sharedNodes(planned, clients)
		for i, target := range planned.Targets {
			contributions[i] = contributionOf(run, planned, attempt, target, clients)
			contributions[i].remarks = append(contributions[i].remarks, shared[target]...)
			problems = append(problems, contributions[i].problems...)
			if !concluded {
				stopped = append(stopped, contributions[i].stopped...)
			}
		}
	}
	// If one client fails, the others are stopped. Report the failed client first, because its failure is the cause.
	end(step(run, attempt), append(problems, stopped...), now)
	noteIO(step(run, attempt), planned.Targets, clients)
	if failed(run) == nil {
		// The step has ended, so clear the run's message, which describes the step's progress.
		run.Status.Message = ""
	}
	if step(run, attempt).FirstIOTime == nil && failed(run) != nil {
		return
	}
	extend(run, planned, attempt)
	demands := plan.NewDemandModel(&run.Spec.Run)
	for i, target := range planned.Targets {
		fold(run, demands, planned, attempt, target, contributions[i])
	}
	skipUnneeded(run, planned, now)
	compareTargets(run, planned)
	noteCredits(run, demands, planned, attempt)
	for _, target := range planned.Targets {
		attribute(run, demands, target)
	}
	run.Status.Display = result.Headline(run)
	fit(run)
}

// end records the end of an attempt and its problems.
func end(fact *v1alpha1.StepStatus, problems []string, now time.Time) {
	fact.EndTime = micro(now)
	fact.State = v1alpha1.StepSucceeded
	if len(problems) == 0 {
		return
	}
	fact.State = v1alpha1.StepFailed
	fact.Message = v1alpha1.Truncate(problems[0], maxStepMessage)
	if more := len(problems) - 1; more > 0 {
		tail := fmt.Sprintf("; and %d more", more)
		fact.Message = v1alpha1.Truncate(problems[0], maxStepMessage-len(tail)) + tail
	}
}

// extend widens the time span of a phase so that it includes the measured I/O of a step or, for an Idle step, the
// pause.
func extend(run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt) {
	fact := step(run, attempt)
	start, end := timeOf(fact.MeasuredTime), timeOf(fact.LastIOTime)
	if planned.Purpose == plan.Idle {
		start, end = timeOf(fact.StartTime), timeOf(fact.EndTime)
	}
	phase := phaseResult(run, planned)
	phase.StartTime = micro(earliest(timeOf(phase.StartTime), start))
	phase.EndTime = micro(latest(timeOf(phase.EndTime), end))
}

// fold adds a step's measurements on a target to the result of the phase. It is idempotent: recording the same result
// again, for example after a restart, changes nothing.
func fold(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, planned plan.Step, attempt decide.Attempt, target string, p contribution,
) {
	there := p.present(planned)
	if planned.Purpose == plan.Idle {
		end := timeOf(step(run, attempt).EndTime)
		there = int(degraded(run, planned.ID, target, result.Span{Start: end, End: end}).Clients)
	}
	history := historyOf(run, demands, planned, attempt, target, there)
	var made v1alpha1.TargetResult
	if planned.Purpose == plan.Idle {
		if planned.Kind != v1alpha1.PhaseCooldown {
			// An Idle step outside a cooldown phase is a pause between the cells of a sweep. It needs no result,
			// because the figures of the cells contain the fill level of the bucket.
			return
		}
		fact := step(run, attempt)
		made = result.Cooldown(planned, target, history, timeOf(fact.StartTime), timeOf(fact.EndTime))
	} else {
		made = result.Target(planned, target, p.clients, history, p.remarks...)
	}
	phase := phaseResult(run, planned)
	at := slices.IndexFunc(phase.Targets, func(t v1alpha1.TargetResult) bool { return t.Target == target })
	if at < 0 {
		at = placeOf(run, phase, target)
		phase.Targets = slices.Insert(phase.Targets, at, v1alpha1.TargetResult{})
	}
	result.Fold(&run.Spec.Run.Phases[planned.PhaseIndex], &phase.Targets[at], planned, history, made)
}

// placeOf returns the index at which to insert a target into the results of a phase. The results are in the order of
// the run's targets, even if the phase loaded a later target first, because the other targets are compared with the
// first one. The results of an interference phase are in the order of its steps.
func placeOf(run *v1alpha1.BenchmarkRun, phase *v1alpha1.PhaseResult, target string) int {
	order := func(name string) int {
		return slices.IndexFunc(run.Spec.Run.Targets, func(t v1alpha1.Target) bool { return t.Name == name })
	}
	at := slices.IndexFunc(phase.Targets, func(t v1alpha1.TargetResult) bool { return order(t.Target) > order(target) })
	if at < 0 || phasekind.Of(phase.Kind).Interleaved {
		return len(phase.Targets)
	}
	return at
}

// contribution holds the results and the problems of the clients of one target in a step.
type contribution struct {
	clients []result.Client
	remarks []result.Remark
	// problems describes the clients that failed; stopped describes the clients that were stopped early.
	problems, stopped []string
}

// contributionOf evaluates the clients of a target in a step, including expected clients that are missing.
func contributionOf(
	run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, target string, clients []result.Client,
) contribution {
	var p contribution
	concluded := concludedAt(run, attempt)
	goOn := run.Spec.Run.Clients.OnLoss == v1alpha1.OnLossContinueDegraded
	there := map[int]bool{}
	for _, client := range clients {
		if client.Target != target {
			continue
		}
		there[client.Index] = true
		loss := LossOf(run, decide.ClientKey{Target: target, Index: client.Index})
		if goOn && loss != nil && !complete(&client, loss, concluded) {
			p.missing(client.Index, loss.Reason)
			continue
		}
		p.clients = append(p.clients, client)
		name := fmt.Sprintf("client %s/%d", target, client.Index)
		switch {
		case client.Failure != "":
			p.problems = append(p.problems, name+": "+client.Failure+": "+client.FailureMessage)
		case !client.Ended:
			p.problems = append(p.problems, name+" did not report that it ended")
		case client.Stopped:
			p.stopped = append(p.stopped, name+" was stopped early: "+client.StopMessage)
		}
	}
	for index := range planned.Clients {
		if there[index] {
			continue
		}
		if loss := LossOf(run, decide.ClientKey{Target: target, Index: index}); goOn && loss != nil {
			p.missing(index, loss.Reason)
			continue
		}
		p.problems = append(p.problems, fmt.Sprintf("client %s/%d did not take part", target, index))
		p.remarks = append(p.remarks, result.Remark{Warning: v1alpha1.WarningResultIncomplete, Client: index, Message: "did not take part"})
	}
	for _, lost := range run.Status.LostClients {
		if lost.Target == target && lost.Step == planned.ID && lost.Replaced {
			p.remarks = append(p.remarks, result.Remark{Warning: v1alpha1.WarningClientReplaced, Client: int(lost.Client),
				Message: "was lost (" + lost.Reason + "); the step was repeated with a replacement"})
		}
	}
	return p
}

// complete reports whether a client had a complete result when it was lost. The result of a client that was stopped is
// complete only if the client was lost after the step had measured enough.
func complete(client *result.Client, loss *v1alpha1.LostClient, concluded time.Time) bool {
	return client.Ended && (!client.Stopped || !concluded.IsZero() && !timeOf(loss.Time).Before(concluded))
}

func (p *contribution) missing(index int, reason string) {
	p.remarks = append(p.remarks, result.Remark{Warning: v1alpha1.WarningClientsMissing, Client: index,
		Message: "was lost (" + reason + "); the run continued without it because of onLoss"})
}

// present returns the number of clients that took part in a step.
func (p *contribution) present(planned plan.Step) int {
	lost := 0
	for _, remark := range p.remarks {
		if remark.Warning == v1alpha1.WarningClientsMissing {
			lost++
		}
	}
	return planned.Clients - lost
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
