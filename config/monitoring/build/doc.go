// Package build generates the objects for monitoring the operator with Prometheus and Grafana: a ServiceMonitor, a
// PrometheusRule and dashboards. Its output is in config/monitoring; `make generate` writes the files, and a test
// fails if they differ.
//
// All queries are Go code, so that one test can check them against the metrics that exist (internal/metrics), and
// another can run them on a real Prometheus.
package build
