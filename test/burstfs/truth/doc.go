// Package truth compares the figures of a benchmark with the record of a store of test/burstfs.
//
// The reference is the store's own record: the I/O of each second, the pauses, and the remaining credits. The
// configuration is shown beside it, but is not the reference: on a machine that is too slow for it, the record differs
// from the configuration, and the benchmark must report what really happened.
//
//	record       a mounted store's seconds, or its CSV
//	Drain        burst, baseline, time and credits of a drain in a span of the record
//	Refill       the credits that came back in a pause, per second
//	Compare      the figures of a run beside those of the record
//
// Times are times of day, so a run and its store must use the same clock, as they do on one machine.
package truth
