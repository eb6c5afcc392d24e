// Package metrics makes the operator's metrics of what is stored and of what its sessions know: at each scrape
// anew, so that a series is gone with the object that it speaks of, and none is ever stale.
//
//	StorageBenchmarks, BenchmarkRuns (cached) -+
//	results of the newest run (kept once read) +-> points -> Collector -> /metrics
//	live sessions: totals, latencies, clients -+
//
// Families says of every metric what it is; docs/reference/metrics.md and the tests come from that table. Labels are
// names that are bounded by the API (phases, targets, operations), never paths, pods or messages.
package metrics
