package storagebenchmark

import (
	"github.com/storagebench/storagebench/api/v1alpha1"
)

// verb is what to do with a benchmark.
type verb string

const (
	// leave does nothing: nothing asks for a run.
	leave verb = "leave"
	// watch waits for the live run.
	watch verb = "watch"
	// hold starts nothing, because the benchmark is suspended.
	hold verb = "hold"
	// await waits for what spec.run refers to.
	await verb = "await"
	// refuse waits for an edit: no run can be made of spec.run.
	refuse verb = "refuse"
	// yield waits until another object gives the name of the run free.
	yield verb = "yield"
	// intend records the run that is to be created.
	intend verb = "intend"
	// create creates the run that is recorded.
	create verb = "create"
	// adopt records that the run exists.
	adopt verb = "adopt"
	// replace tells the live run to make way for another.
	replace verb = "replace"
	// judge records what came out of the run that has ended.
	judge verb = "judge"
	// miss records that the run was deleted before it was judged.
	miss verb = "miss"
)

// action is the decision: what to do, and which old runs go.
type action struct {
	do verb
	// run to adopt, which status may not name yet.
	run *v1alpha1.BenchmarkRun
	// prune are ended runs beyond the limits.
	prune []*v1alpha1.BenchmarkRun
}

// next decides. What exists comes first, then what may be started.
func next(obs observation) action {
	act := begin(obs)
	act.prune = surplus(obs)
	return act
}

func begin(obs observation) action {
	status := &obs.benchmark.Status
	switch obs.active.state {
	case activeEnded:
		return action{do: judge}
	case activeDeleted:
		return action{do: miss}
	case activeLive:
		if status.ActiveRun.UID == "" {
			return action{do: adopt, run: obs.active.run}
		}
		if replaces(obs) && !told(obs.active.run) && len(obs.candidate.missing)+len(obs.candidate.problems) == 0 {
			return action{do: replace, run: obs.active.run}
		}
		return action{do: watch}
	case noActive:
		if stray := unrecorded(obs); stray != nil {
			return action{do: adopt, run: stray}
		}
	case activeIntended, activeTaken:
	}
	intended := obs.active.state != noActive
	switch {
	case suspended(obs.benchmark):
		return action{do: hold}
	case !intended && !wanted(obs):
		return action{do: leave}
	case len(obs.candidate.missing) > 0:
		return action{do: await}
	case len(obs.candidate.problems) > 0:
		return action{do: refuse}
	case !intended || status.ActiveRun.Hash != obs.hash:
		// What is not created yet becomes what is wanted now.
		return action{do: intend}
	case obs.active.state == activeTaken:
		return action{do: yield}
	}
	return action{do: create}
}

func suspended(benchmark *v1alpha1.StorageBenchmark) bool {
	return benchmark.Spec.Suspend != nil && *benchmark.Spec.Suspend
}

// mayCreate reports whether begin looks at the candidate.
func mayCreate(obs observation) bool {
	switch obs.active.state {
	case noActive:
		return !suspended(obs.benchmark) && wanted(obs)
	case activeIntended, activeTaken:
		return !suspended(obs.benchmark)
	case activeLive:
		// A live run is not stopped for one that could not be.
		return replaces(obs)
	case activeEnded, activeDeleted:
	}
	return false
}

// unrecorded is a live run that status knows nothing of, such as after somebody has emptied it: the
// newest. The cache may still show the newest judged run as it was before its end.
func unrecorded(obs observation) *v1alpha1.BenchmarkRun {
	var newest *v1alpha1.BenchmarkRun
	for i := range obs.runs {
		run := &obs.runs[i]
		if ended(run) || obs.benchmark.Status.LastRun != nil && obs.benchmark.Status.LastRun.UID == string(run.UID) {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&run.CreationTimestamp) {
			newest = run
		}
	}
	return newest
}
