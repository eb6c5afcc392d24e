// Package chaos kills parts of a local run at random moments. It checks that none of the run's processes and files
// remain, and that a result says what happened.
package chaos
