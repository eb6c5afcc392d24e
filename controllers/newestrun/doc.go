// Package newestrun reads the newest judged run of each benchmark once, and keeps its figures for the operator's
// metrics. The cache keeps little of a run that has ended (storagebenchmark.TrimEndedRun), and reading runs from the
// API server at each scrape would load it needlessly.
//
// It keeps points, not runs: a few hundred numbers per benchmark. They are dropped when the benchmark is deleted.
package newestrun
