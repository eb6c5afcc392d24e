// Package record stores the facts of a run in its BenchmarkRun, and reads them back as the snapshot for decisions. The
// status is the only memory of a run: a restarted caller knows nothing else.
//
// Each function records one complete fact, so that a caller can persist the object after any of them.
package record
