// Package storagebenchmark decides when a StorageBenchmark is run, and evaluates its newest run. Package benchmarkrun
// conducts the run itself.
//
//	observe   reads the benchmark, its runs and what spec.run refers to
//	next      decides what to do; a pure function
//	apply     creates a run, deletes old ones
//	report    derives the new status, as a pure function; one patch, then events
//
// A run is requested when spec.run gets a new hash or, if there is a schedule, at the scheduled times. Users request a
// run with spec.trigger.manual or the annotation storagebench.dev/requested-at. The status shows the life cycle of a
// run:
//
//	requested -> activeRun {name, hash}        recorded before anything is created, together with
//	                                           the request, so no other run is created for it
//	          -> activeRun {name, hash, uid}   created; from now on it is never created again
//	          -> lastRun {..., reason}         evaluated, after it has ended or a user has deleted it
//
// The operator can therefore crash at any point. The name of a run is derived from its request, so a repeated creation
// cannot result in a second run. Users stop a run by deleting it: a run that no longer exists after its UID was
// recorded is not created again.
package storagebenchmark
