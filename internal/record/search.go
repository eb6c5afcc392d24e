package record

import (
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/search"
)

// Offering sets the offered rate of a search step to the recorded rate or, if none is recorded, to the rate that
// follows from the results of earlier steps. It returns other steps unchanged.
func Offering(run *v1alpha1.BenchmarkRun, planned plan.Step) plan.Step {
	asked := question(run, planned)
	if asked == nil {
		return planned
	}
	rate := asked.Next(trialsOf(run, planned)).Rate
	for i := range run.Status.Steps {
		if fact := &run.Status.Steps[i]; fact.ID == planned.ID && fact.OfferedIOPS != nil {
			rate = *fact.OfferedIOPS
		}
	}
	return planned.Offering(max(rate, asked.Unit), asked.Latency)
}

func trialsOf(run *v1alpha1.BenchmarkRun, planned plan.Step) []search.Trial {
	return result.Trials(run.Status.Result(planned.Phase, planned.Targets[0]), planned.Duration)
}

// question returns the parameters of the search that a step belongs to, or nil if the step does not belong to a search.
// It counts the trials in the stored plan, because this version of the operator might plan a different number.
func question(run *v1alpha1.BenchmarkRun, planned plan.Step) *search.Question {
	phase := run.Spec.Run.Phase(planned.Phase)
	if phase == nil || phase.Search == nil || planned.Cell < 0 || len(planned.Targets) == 0 {
		return nil
	}
	asked, problems := search.Of(nil, phase.Search, planned.Clients)
	if len(problems) > 0 {
		return nil
	}
	asked.Trials = 0
	for i := range run.Spec.Steps {
		if step := &run.Spec.Steps[i]; sameSearch(step, planned) && step.Confirms == nil {
			asked.Trials++
		}
	}
	if onBaseline(phase) {
		if baseline := operationsBaseline(run, planned); baseline > 0 {
			below := asked.Below(baseline)
			if !offers(planned, below) {
				// In a mixed load, each client performs at least one operation of each kind per second. Together, the clients may
				// then exceed a low baseline. In that case, offer only the first rate, although the store cannot reach it.
				below = asked.Below(float64(asked.Min))
			}
			asked = below
		}
	}
	return &asked
}

// offers reports whether the clients can offer the lowest rate of a search.
func offers(planned plan.Step, asked search.Question) bool {
	target := planned.Targets[0]
	use := planned.Offering(asked.Min, asked.Latency).For(target)
	return planned.Load(target).Prove(&use) == nil
}

// sameSearch reports whether a step belongs to the same search as another step.
func sameSearch(step *v1alpha1.ResolvedStep, planned plan.Step) bool {
	return step.Phase == planned.Phase && step.Cell != nil && len(step.Targets) == 1 && step.Targets[0] == planned.Targets[0]
}

// operationsBaseline returns the baseline of a step's load, in operations per second, as the last drain measured it. A
// baseline in bytes is converted to the block size of the step. It returns 0 if the baseline is unknown.
func operationsBaseline(run *v1alpha1.BenchmarkRun, planned plan.Step) float64 {
	demands, target := plan.NewDemandModel(&run.Spec.Run), planned.Targets[0]
	frozen := resolved(run, planned.ID)
	demand, _ := demands.Of(&frozen, target)
	drain := lastDrain(run, demands, &frozen, target)
	if drain == nil {
		return 0
	}
	block, operations := demand.Load.BlockBytes, drain.burst.Operations
	switch {
	case block != drain.load.BlockBytes && drain.burst.Dimension != "Operations":
		if block > 0 && drain.burst.Dimension == "Bytes" {
			return drain.baseline().BytesPerSecond / block
		}
	case operations != nil && operations.Baseline != nil:
		return float64(operations.Baseline.Value) / 1000
	}
	return 0
}

// skipUnneeded marks later steps of a search as skipped if the search no longer needs them.
func skipUnneeded(run *v1alpha1.BenchmarkRun, planned plan.Step, now time.Time) {
	asked := question(run, planned)
	if asked == nil || failed(run) != nil {
		return
	}
	decision := asked.Next(trialsOf(run, planned))
	for i := range run.Spec.Steps {
		later := &run.Spec.Steps[i]
		if !sameSearch(later, planned) || int(*later.Cell) <= planned.Cell || decision.Stage == search.Exploring ||
			decision.Stage == search.Confirming && later.Confirms != nil {
			continue
		}
		if fact := newestAttempt(run, later.ID); fact == nil {
			made := step(run, decide.Attempt{Step: later.ID, Number: 1})
			made.State, made.EndTime = v1alpha1.StepSkipped, micro(now)
		}
	}
}
