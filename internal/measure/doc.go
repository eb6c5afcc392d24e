// Package measure turns the counters of a benchmark tool into the figures of a result.
//
// Every figure is computed here, once, from values that add up exactly:
//
//   - Latency is kept in fio's own histogram grid (Histogram). The bins of many jobs, clients and steps are added, and
//     a percentile is computed once, from the sum, by fio's rule. Percentiles are never averaged.
//   - Throughput is kept as integer counters between two instants (Sample, Series). The throughput of a step is what
//     all clients completed inside the window in which all of them were running, divided by the length of that window.
//   - Instants come from many machines. They are translated to one clock, and the uncertainty of that translation is
//     kept with them (ClockOffset).
//
// The package is pure: it does not read clocks, open files or write logs. Times are int64 nanoseconds of one clock, the
// reference clock, unless a name says otherwise.
package measure
