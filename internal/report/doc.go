// Package report shows the record of a run: as text for a terminal, as JSON for programs.
package report
