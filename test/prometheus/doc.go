// Package prometheus starts a real Prometheus, from Debian's package, for tests, and queries it.
package prometheus
