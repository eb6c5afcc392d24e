// Package earlystop decides when a live step has measured enough.
//
// Some steps end early because of their measurements: a burst drain ends once the baseline is known, and a steady phase
// ends once the rate has been steady for long enough. The decision to end them is recorded in the run. It is based on
// the clients' samples, which a restarted conductor reads again from the agents' logs, so a watcher has no state to
// preserve.
//
//	samples of each client -> flow: all of them, second by second -> detect -> decide.Snapshot.Enough
package earlystop
