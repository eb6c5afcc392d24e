// Package record writes what happens in a run to the status of its BenchmarkRun, and reads it back as the snapshot for
// decide.Next. The status is the only memory of a run: a restarted caller knows nothing else.
//
// Each function makes one complete change, so that a caller can persist the object after any of them.
package record
