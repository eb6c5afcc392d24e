// Package drive conducts one run: it observes, decides, stores the facts, and acts, until nothing is left to do.
//
//	observe -> decide -> note the facts -> store them -> act -> wait for news
//
// The facts of an action are the entries that it makes in the run's status. An action takes effect only after its facts
// are stored, so the conducting process can die at any time, and another process continues from the stored run.
//
// A [Driver] takes one turn at a time. A [Loop] calls it for local runs and for the simulation, and the reconciler
// of BenchmarkRuns calls it for runs in a cluster. [Clients] hides where the clients run.
package drive
