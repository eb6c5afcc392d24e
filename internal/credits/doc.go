// Package credits is the arithmetic of token buckets: how long a burst lasts, how long its credits
// take to come back, and how many are left after what was done so far. It is pure; whoever plans a
// run, and whoever tells what a run did, count with it alike.
//
// A bucket holds credits, in bytes or in operations. While there are some it lets load through at
// its burst rate, otherwise at its baseline. What it lets through is taken from the credits, and they
// grow at the refill rate all the time:
//
//	credits' = refill - let through,   0 <= credits <= size
//
//	   rate
//	  burst |##############
//	        |##############                 a full bucket and full demand last
//	        |##############                 size / (burst - refill) seconds
//	 base   |##########################
//	        +--------------+-----------> time
//
// Under full demand an empty bucket stays empty, also where the refill is above the baseline: such a
// refill counts only once demand leaves a gap.
//
// Nobody knows the fill of a bucket at the start of a run. An [Account] therefore carries two fills:
// the most, as if the bucket had been full, and the least, as if it had been empty. They meet when
// the bucket was seen to be empty, or was left alone for long enough.
package credits
