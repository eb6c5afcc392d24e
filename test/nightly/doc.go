// Package nightly lives through a month of nightly runs with a clock of its own, on a real API server
// and with the two controllers that decide when a run begins. Only the runs themselves are played: what
// happens inside one is tested elsewhere, and on a real cluster in test/e2e.
package nightly
