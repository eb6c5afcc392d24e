// Package soak is for tests that need real time: they measure durations or rates, run for long, or repeat until chance shows.
// `make test` leaves them out; `make soak` runs them, all or by part, and keeps a record of each part.
//
// A soak package calls Main in its TestMain. A package under internal whose soak test needs unexported names keeps it in a
// file *_soak_test.go, which calls Only first. Nowhere else may a test compare elapsed time; the linter says so.
//
// A soak test has three verdicts. It passes or fails as any test does. It calls Inconclusive when the machine was too busy to
// tell, by a control that the test measured itself, such as an A/A pair. The runner repeats what was inconclusive and never
// what failed.
package soak
