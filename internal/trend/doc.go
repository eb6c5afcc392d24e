// Package trend compares a run with earlier ones of the same benchmark. It is pure.
//
//	Compare     returns the part of a run by which other runs are compared with it: up to four figures,
//	            the kind of store, facts that may explain a change; recorded with the run when it ends
//	History     the runs with which a benchmark's next run is compared, as kept in its status: it
//	            survives the deletion of the runs
//	Judge       turns a history and a run into a verdict, changes of level, and the history with the run in it
//
// The choice of figures depends on what was run and not on the results, so that runs with the same spec.run have the
// same figures: for each phase [phasekind.Kind.Overall]. A steady phase whose load has a rate limit, which determines
// the throughput, has the mean latency instead. A burst drain also has credits and time to baseline if fewer than
// four figures are chosen.
//
// The first target contributes one figure per phase, then the next target does, up to four figures.
package trend
