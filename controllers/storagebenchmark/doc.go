// Package storagebenchmark decides when a StorageBenchmark is run, and evaluates its newest run. Package benchmarkrun
// conducts the run itself.
//
//	observe   reads the benchmark, its runs and what spec.run refers to
//	next      decides what to do; pure
//	apply     creates a run, deletes old ones
//	report    derives the status from facts; pure; one patch, then events
//
// A run is requested by a new hash of spec.run or, with a schedule, by its times; by spec.trigger.manual; and by the
// annotation storagebench.dev/requested-at. The status shows its life:
//
//	requested -> activeRun {name, hash}        recorded before anything is created, together with
//	                                           the request: from here on it is this run or none
//	          -> activeRun {name, hash, uid}   created; from here on it is never created again
//	          -> lastRun {..., reason}         ended, or deleted by a user, and judged
//
// So an operator may crash at any point. The name of a run follows from what requested it, so that creating it again is
// the same creation. A run that is gone once its UID is known was deleted, which is how users stop one, and is not
// created again.
package storagebenchmark
