// Package live shows a run as it goes: for a terminal a view that is drawn again each second, for a pipe lines that
// stay.
//
//	BenchmarkRun, plan, time ──Of──> View ──Frame──> lines ──Screen──> terminal
//	                                      └─Lines──> pipe
//
// All that is shown comes from the BenchmarkRun's status, of a local run as of one in a cluster, so that both show the
// same; status.live has what the running step does. Of and Frame are pure.
package live
