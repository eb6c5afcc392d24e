// Package measure turns what a benchmark tool counted into figures that can be defended.
//
// It exists so that every figure of a result is computed in one place, once, from
// things that add up exactly:
//
//   - latency is kept in fio's own histogram grid (Histogram). Bins of many jobs,
//     clients and steps are added, and a percentile is computed once, from the sum, by
//     the rule that fio uses. Percentiles are never averaged.
//   - throughput is kept as integer counters between two instants (Sample, Series). The
//     throughput of a step is what all clients completed inside the window in which all
//     of them were running, divided by the length of that window.
//   - instants come from many machines, so they are translated to one clock, with the
//     uncertainty of that translation kept beside it (ClockOffset).
//
// All code here is pure: no clock is read, nothing is opened, nothing is logged. Times are
// int64 nanoseconds of one clock, the reference clock, unless a name says otherwise.
package measure
