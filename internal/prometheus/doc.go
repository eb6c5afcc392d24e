// Package prometheus evaluates the observations of runs. It queries the Prometheus that is configured in the operator
// or, for a local run, on the command line. A benchmark can choose only the queries, not the server.
//
// Answers are limited in size and time, and redirects are not followed. If a server answers slowly, endlessly or with
// a redirect, the run loses its observations but nothing else.
package prometheus
