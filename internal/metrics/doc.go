// Package metrics derives the operator's metrics from stored objects and live sessions. It computes them at each
// scrape, so a series disappears with its object and is never stale.
//
//	StorageBenchmarks, BenchmarkRuns (cached) -+
//	results of the newest run (kept once read) +-> points -> Collector -> /metrics
//	live sessions: totals, latencies, clients -+
//
// Families describes every metric; docs/reference/metrics.md and the tests are derived from that table. Label values
// are names whose number the API limits (phases, targets, operations), never paths, pods or messages.
package metrics
