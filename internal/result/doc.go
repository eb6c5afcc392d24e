// Package result turns what clients reported of a step into the figures and warnings of the API, and the
// results of steps into those of their phase. It is pure.
//
// Throughput of a time-bound step is what was completed while every client was running, over that
// time; of a work-bound one it is everything, from first start to last end. What was in flight when a
// client's load ended is in no rate; how long it took is told. Latency is over each client's whole measured
// time, from histograms that are added up; percentiles are computed once, from the sum.
//
// Burst, baseline, drops and the steady state are those of the sum over all clients:
//
//	client 0   --..--''--..--|~~       what is in flight at the end is cut off (~)
//	client 1     ''--..--''--..|~~
//	sum        ==================      on a grid of seconds, up to the first client's end of load
//	             detect.Analyze, detect.AssessSteady
//
// What was spent before a drain comes from a [History]; the refill that a redrain measures is derived beside
// the code. [Fold] puts the steps of a phase together; it can be done again without a change, because whoever
// recorded a result may not have lived to know that it did.
//
// What is wrong with the figures is in the result, one warning a type however many clients or cells have it,
// the worst first, so that the API's bounds hold for a thousand clients and hide nothing that
// disqualifies.
package result
