// Package chaos kills parts of a local run at random moments and checks that no process and no file
// of ours stays behind, and that there is a result which says what happened.
package chaos
