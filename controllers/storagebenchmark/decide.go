package storagebenchmark

import (
	"github.com/storagebench/storagebench/api/v1alpha1"
)

// verb is the action to take for a benchmark.
type verb string

const (
	// leave does nothing: no run is requested.
	leave verb = "leave"
	// watch waits for the live run to end.
	watch verb = "watch"
	// hold starts nothing, because the benchmark is suspended.
	hold verb = "hold"
	// await waits for missing objects that spec.run refers to.
	await verb = "await"
	// refuse waits until the benchmark is edited, because no run can be created from its current spec.
	refuse verb = "refuse"
	// yield waits until no other object uses the run's name.
	yield verb = "yield"
	// intend records the run to be created.
	intend verb = "intend"
	// create creates the run that the status records.
	create verb = "create"
	// adopt records that the run exists.
	adopt verb = "adopt"
	// replace asks the live run to stop, so that a new run can start.
	replace verb = "replace"
	// judge records the result of the run that has ended.
	judge verb = "judge"
	// miss records that the run was deleted before it was evaluated.
	miss verb = "miss"
)

// action is a decision: what to do, and which old runs to delete.
type action struct {
	do verb
	// run is the run to adopt, which the status might not name yet, or the run to replace.
	run *v1alpha1.BenchmarkRun
	// prune lists the ended runs beyond the history limits.
	prune []*v1alpha1.BenchmarkRun
}

// next decides what to do about a benchmark. It considers existing runs first, and then whether a new run may be
// started.
func next(obs observation) action {
	act := begin(obs)
	act.prune = beyondHistoryLimit(obs)
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
		if replaces(obs) && !toldToStop(obs.active.run) && len(obs.candidate.missing)+len(obs.candidate.problems) == 0 {
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
	case !intended && !runRequested(obs):
		return action{do: leave}
	case len(obs.candidate.missing) > 0:
		return action{do: await}
	case len(obs.candidate.problems) > 0:
		return action{do: refuse}
	case !intended || status.ActiveRun.Hash != obs.hash:
		// The recorded run was not created, and spec.run has changed: record a run of the current spec.run instead.
		return action{do: intend}
	case obs.active.state == activeTaken:
		return action{do: yield}
	}
	return action{do: create}
}

func suspended(benchmark *v1alpha1.StorageBenchmark) bool {
	return benchmark.Spec.Suspend != nil && *benchmark.Spec.Suspend
}

// mayCreate reports whether the next decision may create a run, or stop the live run for a new one. If not, no
// candidate for a new run is needed.
func mayCreate(obs observation) bool {
	switch obs.active.state {
	case noActive:
		return !suspended(obs.benchmark) && runRequested(obs)
	case activeIntended, activeTaken:
		return !suspended(obs.benchmark)
	case activeLive:
		// The candidate is needed because the live run is stopped only if its successor can be created.
		return replaces(obs)
	case activeEnded, activeDeleted:
	}
	return false
}

// unrecorded returns the newest live run that the status does not name, for example because a user has cleared the
// status. It skips the newest evaluated run, because a stale cache may still show that run as live.
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
