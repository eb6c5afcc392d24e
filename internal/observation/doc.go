// Package observation turns the recorded times of a run's steps into range queries, and the answers into figures,
// points for charts, and warnings about late or missing data. The package has no side effects; internal/prometheus
// sends the queries.
//
//	first I/O     measured time                    last I/O
//	|-- warm-up --|--------------------------------|
//	•      •      •      •      •      •      •      •       evaluated at equal intervals, both ends included
//	              └───────────── figures ──────────┘
//	└ level at the start                     └ late if the newest sample here is old
//
// A query is evaluated at the scrape interval, or less often if the step is so long that Prometheus would refuse the
// query.
package observation
