// Package newestrun reads the newest judged run of each benchmark, once, and keeps its figures for the operator's
// metrics. The cache keeps little of a run that has ended (storagebenchmark.TrimEndedRun), and to read runs from the API
// server at each scrape would load it for nothing.
//
// It keeps points, not runs: some hundred numbers a benchmark. What is kept is gone with the benchmark.
package newestrun
