// Package report shows the record of a run: as text for a terminal, as JSON for programs.
//
// The text has one table of operations, and then a table of its own for each burst drain, ramp and sweep, and
// for when each phase was.
package report
