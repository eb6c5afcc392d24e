// Package result turns what the clients of a step reported into the figures and warnings of the API, and the results of
// steps into those of their phase. It is pure.
//
// The throughput of a time-bound step is what was completed while every client was running, divided by that time; that
// of a work-bound step is everything, from the first start to the last end. Operations in flight when a client's load
// ended count in no rate; the result reports how long they took. Latency covers each client's whole measured time:
// histograms are added up, and percentiles are computed once, from the sum.
//
// Burst, baseline, drops and the steady state are those of the sum over all clients:
//
//	client 0   --..--''--..--|~~       what is in flight at the end is cut off (~)
//	client 1     ''--..--''--..|~~
//	sum        ==================      on a grid of seconds, up to the first client's end of load
//	             detect.Analyze, detect.AssessSteady
//
// What was spent before a drain comes from a [History]; the refill that a redrain measures is derived in redrain.go.
// [Fold] combines the steps of a phase. It can be repeated without a change, because the process that recorded a result
// may have died before it noted that.
//
// Problems with the figures are warnings of the result, one per type however many clients or cells have it, the worst
// first. So the API's bounds hold for a thousand clients and hide nothing that disqualifies.
package result
