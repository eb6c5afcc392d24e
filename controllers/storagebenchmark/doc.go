// Package storagebenchmark decides when a StorageBenchmark is run, and what its newest run says of
// it. What happens inside a run is the business of package benchmarkrun.
//
//	observe   reads the benchmark, its runs and what spec.run refers to
//	next      says what to do; pure
//	apply     creates a run, deletes old ones
//	report    status from facts; pure; one patch, then events
//
// A run is asked for by a new hash of spec.run, by spec.trigger.manual and by the annotation
// storagebench.dev/requested-at. Its life, as status tells it:
//
//	asked for -> activeRun {name, hash}        recorded before anything is created, and the request
//	                                           with it: from here on it is this run or none
//	          -> activeRun {name, hash, uid}   created; from here on it is never created again
//	          -> lastRun {..., reason}         ended, or deleted by somebody, and judged
//
// So an operator may die at any line. A name follows from what asked for the run, which makes
// creating it again the same creation; a run that is gone once its uid is known was deleted, which is
// how people stop one, and does not come back.
package storagebenchmark
