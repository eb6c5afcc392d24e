// Package live shows the progress of a run: on a terminal as a view that is redrawn every second, and in a pipe as
// permanent lines.
//
//	BenchmarkRun, plan, time ──Of──> View ──Frame──> lines ──Screen──> terminal
//	                                      └─Lines──> pipe
//
// Everything shown comes from the BenchmarkRun's status, so local runs and runs in a cluster look the same;
// status.live describes the running step. Of and Frame are pure functions.
package live
