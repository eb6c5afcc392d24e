// Package record writes what happens in a run to the status of its BenchmarkRun, and reads it back as the snapshot for
// decide.Next. The status contains the complete state of a run, from which a restarted process continues.
//
// Each function makes one complete change, so that a caller can persist the object after any of them.
package record
