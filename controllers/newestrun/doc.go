// Package newestrun reads the newest evaluated run of each benchmark once, and stores its figures for the operator's
// metrics. The cache contains only a part of each ended run (storagebenchmark.TrimEndedRun), and reading runs from the
// API server at each scrape would put unnecessary load on it.
//
// The package stores only the values of the metrics, a few hundred numbers per benchmark, instead of the runs. The
// values are dropped when the run or the benchmark is deleted.
package newestrun
