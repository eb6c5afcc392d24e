// Package newestrun reads the newest judged run of each benchmark once, and keeps its figures for the operator's
// metrics. The cache holds only part of a run that has ended (storagebenchmark.TrimEndedRun), and reading runs from
// the API server at each scrape would put unnecessary load on it.
//
// It keeps only the values of the metrics, a few hundred numbers per benchmark, instead of the runs. They are dropped
// when the run or the benchmark is deleted.
package newestrun
