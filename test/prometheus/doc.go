// Package prometheus starts a real Prometheus, of the system's package, for tests, and asks it.
package prometheus
