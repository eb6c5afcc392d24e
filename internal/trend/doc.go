// Package trend compares a run with earlier runs of the same benchmark. It has no side effects.
//
//	Compare     returns the data by which a run is compared with others: up to four figures, the kind of store,
//	            and facts that may explain a change; recorded with the run when it ends
//	History     the runs with which a benchmark's next run is compared; kept in the benchmark's status, so
//	            that it survives the deletion of the runs
//	Judge       compares a run with a history; returns a verdict, changes of level, and the extended history
//
// The choice of figures depends on the specification and not on the results, so that runs with the same spec.run have
// the same figures. Each phase contributes its overall figure (see [phasekind.Kind.Overall]). A steady phase whose load
// has a rate limit, which determines the throughput, contributes the mean latency instead. If this results in fewer
// than four figures, burst drains also contribute the credits spent and the time to baseline.
//
// Figures are chosen target by target, in the order of the phases, until there are four.
package trend
