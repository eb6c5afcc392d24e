// Package queue says whose turn it is among runs that must not overlap: those of one queue, those on one
// claim, and those on one volume. It is pure: it decides on what is recorded of each run.
//
// First come, first served: a run waits for every run that shares something with it and was created
// before, at one second by name. It waits for those too that wait themselves, so nobody is overtaken.
//
// A run is let in in two writes, each of which fails when the run was changed since it was read:
//
//	(nothing) --> Waiting --> Raised --> Live --> over
//	                 ^           |
//	                 +-- lowers -+   somebody else is Live, or Raised and before it
//
// Raised says: I am about to begin. Whoever is Raised lists all runs once more, after its own write, and
// begins only where it sees nobody else Raised or Live. Of two that are Raised at once at least one sees
// the other, whichever order their writes and lists have, whoever makes them: two operators that both
// believe to lead, one that has died between the two, or one whose write arrives late. Order of creation
// alone could not do that: a run that sorts first may appear last.
package queue
