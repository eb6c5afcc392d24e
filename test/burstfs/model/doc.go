// Package model simulates a store with documented limits: its input is requests and their times, its output is answers
// and their times. It has no clock, no files and no goroutines. Every call takes the current time as an argument, so
// that a test of a twelve-hour drain takes a moment and a mounted store ([burstfs]) behaves exactly as in the tests.
//
// # A bucket
//
// A [Bucket] counts bytes or operations. They pass at its burst rate while it has credits, and at its baseline rate
// otherwise. Everything that passes costs credits, and credits come back at the refill rate at all times, up to the
// bucket's size:
//
//	credits' = refill - let through,   0 <= credits <= size
//
//	   rate
//	  burst |##############
//	        |##############                          a full bucket and steady demand last
//	        |##############                          size / (burst - refill) seconds
//	 base   |##########################
//	        +--------------+-----------> time
//
// Under steady demand, the rate of an empty bucket is exactly the baseline, even if the refill rate is different: a
// refill rate above the baseline has an effect only when demand pauses.
//
// A bucket is a first-in first-out queue. It is exact even if the credits run out in the middle of a request. A request
// enters all buckets that apply to it at once, and has passed when it has passed the last of them. So the store's rate
// is the lowest of their rates, whatever the request sizes, and a request that waits in one bucket does not prevent
// another bucket from gaining credits.
//
// # Around the buckets
//
//	submit -> [queue limit] -> all buckets at once -> latency -> answer
//	              |                                     ^
//	              | a failure skips the buckets --------+
//
// A read whose blocks are all in the server's [Cache] is limited by the cache's rate instead of the buckets behind the
// cache. A [Tenant] takes a share of buckets' rates by a schedule. A [Failure] makes requests fail or be answered late.
//
// [burstfs]: github.com/storagebench/storagebench/test/burstfs
package model
