// Package soak supports tests that need real time: they measure durations or rates, run for a long time, or repeat
// often enough for rare failures to appear. `make test` skips them; `make soak` runs all parts or some, and keeps a
// record of each part.
//
// A soak package calls Main in its TestMain. If a soak test needs unexported names of another package, it is in a file
// *_soak_test.go of that package and calls Only first. No other test may compare elapsed times; the linter enforces
// this.
//
// A soak test has one of three verdicts. It passes or fails like any test. It calls Inconclusive if the machine was too
// busy, as shown by a control that the test measured itself, such as an A/A pair. The runner repeats inconclusive
// tests, but never failed ones.
package soak
