// Package trend compares a run with earlier ones of the same benchmark. It is pure.
//
//	Compare     what other runs are compared with a run by: up to four figures, the kind of store, facts
//	            that may explain a change; recorded with the run when it ends
//	History     the runs that a benchmark's next run is compared with, as its status keeps them: it stays
//	            when the runs are deleted
//	Judge       a history and a run to a verdict, changes of level, and the history with the run in it
//
// Which figures are judged follows from what was run and not from what came out, so that runs of one
// spec.run have the same ones:
//
//	steady        throughput; of a load with a rate limit, whose throughput is given, the mean latency; of
//	              a program its duration; of mdtest the mean of its rates
//	ramp          the best step
//	sweep         the geometric mean of all cells
//	burstDrain    the burst, and where there is room among the four, credits and time to baseline
//	cooldown      a refill that was measured
//
// One a phase for the first target, then one a phase for the next, until there are four.
package trend
