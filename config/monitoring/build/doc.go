// Package build makes what Prometheus and Grafana need to know of the operator: a ServiceMonitor, a PrometheusRule and
// dashboards. The files of config/monitoring are its output; `make generate` writes them, and a test fails where they
// differ.
//
// All queries are code here, so that a test can hold each against the metrics that there are (internal/metrics), and
// another one can ask a real Prometheus.
package build
