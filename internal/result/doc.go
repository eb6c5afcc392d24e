// Package result turns what clients reported of a step into the figures and warnings of the API.
// It is pure.
//
// Throughput of a time-bound step is what was completed while every client was running, over that
// time; of a work-bound one it is everything, from first start to last end. Latency is over each
// client's whole measured time, from histograms that are added up; percentiles are computed once,
// from the sum.
//
// What is wrong with the figures is in the result, one warning a type however many clients have it,
// the worst first, so that the API's bounds hold for a thousand clients and hide nothing that
// disqualifies.
package result
