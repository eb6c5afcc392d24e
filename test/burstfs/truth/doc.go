// Package truth holds what a benchmark says against what a store of test/burstfs did, figure by figure.
//
// The truth is the store's own record: what it let through in each second, when nothing was under way, and what
// was left of its credits. The configuration is shown beside it and is not what anything is measured by: a
// machine that is too slow for it would make the record differ from it, and the benchmark has to say what was
// there.
//
//	record       a mounted store's seconds, or its CSV
//	Drain        burst, baseline, time and credits of a drain in a span of the record
//	Refill       what came back in a pause
//	Compare      the phases of a run beside all that
//
// Times are times of day, so a run and its store have to look at the same clock, as they do on one machine.
package truth
