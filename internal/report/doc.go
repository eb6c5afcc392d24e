// Package report writes the result of a run as text, JSON, CSV, Markdown or HTML, and compares runs.
//
// The text has one table of operations, then a table for each burst drain, ramp and sweep, and a timeline of the
// phases.
package report
