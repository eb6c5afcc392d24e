// Package credits models token buckets: it computes how long a burst lasts, how long its credits take to refill, and
// how many credits are left after the load so far. It has no side effects. The plan of a run and the evaluation of its
// results use the same arithmetic.
//
// A bucket holds credits, in bytes or in operations. While it has credits, it lets load through at its burst rate,
// otherwise at its baseline. Each byte or operation that it lets through costs one credit. Credits grow continuously at
// the refill rate:
//
//	credits' = refill - let through,   0 <= credits <= size
//
//	   rate
//	  burst |##############
//	        |##############                 a full bucket under unlimited demand lasts
//	        |##############                 size / (burst - refill) seconds
//	 base   |##########################
//	        +--------------+-----------> time
//
// Under unlimited demand, an empty bucket stays empty, even if the refill is above the baseline, because credits
// accumulate only while the demand is below the refill.
//
// The fill level of a bucket at the start of a run is unknown. An [Account] therefore tracks two estimates: an upper
// bound, which assumes that the bucket was full, and a lower bound, which assumes that it was empty. They become equal
// when the bucket is observed to be empty, or has had no load for long enough.
package credits
