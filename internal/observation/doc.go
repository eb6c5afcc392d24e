// Package observation turns the recorded times of a run's steps into range queries, and the answers into figures,
// points for charts, and warnings about what is late or missing. The package is pure; internal/prometheus asks.
//
//	first I/O     measured time                    last I/O
//	|-- warm-up --|--------------------------------|
//	•      •      •      •      •      •      •      •       evaluated at equal intervals, both ends included
//	              └───────────── figures ──────────┘
//	└ level at the start                     └ late if the newest sample here is old
//
// A query is evaluated at the scrape interval, or less often if the step is so long that Prometheus would refuse.
package observation
