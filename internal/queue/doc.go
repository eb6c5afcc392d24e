// Package queue decides whose turn it is among runs that must not overlap: runs of one queue, on one claim, or on one
// volume. Its functions are pure: they depend only on the recorded state of each run.
//
// Runs are served first come, first served: a run waits for every run that shares something with it and was created
// earlier. Runs created in the same second are ordered by namespace and name. A run also waits for runs that are
// themselves waiting, so no run is overtaken.
//
// A run is admitted in two writes, each of which fails if the run was changed after it was read:
//
//	(nothing) --> Waiting --> Raised --> Live --> over
//	                 ^           |
//	                 +-- lowers -+   another run is Live, or is Raised and ahead of this one
//
// A Raised run is about to begin. The operator that raises a run lists all runs again after that write, and begins the
// run only if no run that shares something with it is Raised or Live. If two runs are Raised at once, at least one sees
// the other, in whatever order their writes and lists happen. This holds even if two operators both believe that they
// are the leader, if an operator died between the two writes, or if a write arrives late. The order in which runs are
// served cannot ensure this by itself: of several runs created in the same second, the one that is served first may be
// created last.
package queue
