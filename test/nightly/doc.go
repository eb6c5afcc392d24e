// Package nightly simulates a month of nightly runs with its own clock, on a real API server and with the two
// controllers that decide when a run starts. Only the runs themselves are simulated: what happens inside one is tested
// elsewhere, and on a real cluster in test/e2e.
package nightly
