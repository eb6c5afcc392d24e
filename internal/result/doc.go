// Package result computes the figures and warnings of the API: those of a step from the reports of its clients, and
// those of a phase from the results of its steps. It has no side effects.
//
// The throughput of a time-bound step is the amount completed while every client was running, divided by that time. The
// throughput of a work-bound step is the total amount, divided by the time from the first start to the last end. No
// rate includes operations that were in flight when a client's load ended; the result reports how long they took.
// Latency covers the whole measured time of each client: histograms are added up, and percentiles are computed once,
// from the sum.
//
// Burst, baseline, drops and the steady state are computed from the sum over all clients:
//
//	client 0   --..--''--..--|~~       operations in flight at the end are cut off (~)
//	client 1     ''--..--''--..|~~
//	sum        ==================      on a grid of seconds, up to the first client's end of load
//	             detect.Analyze, detect.AssessSteady
//
// The I/O before a drain, which may have spent credits, comes from a [History]. redrain.go derives the refill from a
// redrain, which is a second drain after idle time. [Fold] combines the steps of a phase. Folding a step again changes
// nothing, so a new process can repeat it if the previous one died before it recorded that the step was folded.
//
// Problems with the figures are warnings of the result, one per type regardless of the number of clients or cells, with
// the worst first. Even with a thousand clients, the warnings therefore stay within the API's limits and include
// everything that disqualifies a result.
package result
