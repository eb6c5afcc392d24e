// Package prometheus evaluates the observations of runs: it asks the Prometheus that whoever installs the operator, or
// starts a local run, has configured. A benchmark cannot choose the server, only the queries.
//
// Answers are bounded in bytes and in time, and redirects are not followed: a server that answers slowly, endlessly
// or with another address costs a run its observations and nothing else.
package prometheus
