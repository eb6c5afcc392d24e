// Package model is a store with documented limits, as arithmetic: what is asked of it and when goes in, what
// it answers and when comes out. It has no clock, no files and no goroutines; every call takes the time, so
// that a twelve-hour drain is tested in a moment and a mounted store ([burstfs]) does the same as the tests.
//
// # A bucket
//
// A [Bucket] counts bytes or operations. While it holds credits it lets them through at its burst rate,
// otherwise at its baseline. What it lets through is taken from the credits, and they grow at the refill
// rate all the time, up to the bucket's size:
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
// An empty bucket under steady demand lets through the baseline exactly, also where the refill differs from
// it: a refill above the baseline counts only once demand leaves a gap.
//
// A bucket is a queue that is served in turn, exact to the moment in which the credits run out in the middle
// of a request. A request enters all buckets that apply to it at once and is through when the last one let
// it pass. So the least of their rates is the store's, whatever the sizes of the requests, and what one
// bucket makes wait does not keep another from gaining credits.
//
// # Around the buckets
//
//	submit -> [queue limit] -> all buckets at once -> latency -> answer
//	              |                                     ^
//	              | a failure skips the buckets --------+
//
// A read whose blocks are all in the server's [Cache] passes the cache's own speed instead of the buckets
// behind it. A [Tenant] takes a share of buckets' rates by a schedule. A [Failure] answers with an error or
// late.
//
// [burstfs]: github.com/storagebench/storagebench/test/burstfs
package model
