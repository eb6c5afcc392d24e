// Package drive conducts one run: it observes, decides, has the facts stored, and acts, until nothing is left to do.
//
//	observe -> decide -> note the facts -> store them -> act -> wait for news
//
// An action has effects only once its facts are stored. So what conducts a run can die at any moment, and another
// process, given the run as it was stored, goes on from there.
//
// A [Driver] takes one turn at a time: a [Loop] calls it for local runs and for the simulation, the reconciler of
// BenchmarkRuns for runs in a cluster. Where the clients live is behind [Clients].
package drive
