// Package record keeps the facts of a run in its BenchmarkRun and reads them back as the snapshot
// that decisions are made on. The status is the only memory of a run: what is not in it did not
// happen.
//
// Each function writes one fact, whole, so that a caller can persist the object after any of them.
package record
