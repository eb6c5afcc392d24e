// Package storagebenchmark decides when a StorageBenchmark is run, and evaluates its newest run. Package benchmarkrun
// conducts the run itself.
//
//	observe   reads the benchmark, its runs and what spec.run refers to
//	next      decides what to do; pure
//	apply     creates a run, deletes old ones
//	report    derives the new status; pure; one patch, then events
//
// A run is requested by a new hash of spec.run or, with a schedule, at the scheduled times; by spec.trigger.manual;
// and by the annotation storagebench.dev/requested-at. The status shows the life cycle of a run:
//
//	requested -> activeRun {name, hash}        recorded before anything is created, together with
//	                                           the request: no other run is created for it
//	          -> activeRun {name, hash, uid}   created; from now on it is never created again
//	          -> lastRun {..., reason}         judged, after it has ended or a user has deleted it
//
// The operator may therefore crash at any point. The name of a run is derived from its request, so a repeated creation
// cannot result in a second run. Users stop a run by deleting it: a run that no longer exists after its UID was
// recorded is not created again.
package storagebenchmark
