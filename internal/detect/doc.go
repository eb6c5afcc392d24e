// Package detect analyzes series of throughput: where a burst ended and at what level the rate continued, whether a
// load was steady, and the load beyond which throughput gains little.
//
// All of these calculations are made in this package. It has no side effects, and is tested against series with known
// results. docs/design/0034-detection.md describes how it works, and how accurate its results were in those tests.
//
// A series in which a burst ends looks as follows, with the reported figures:
//
//	rate
//	  |      .----. .--. .------.            burst: the mean of the first settled segment, dips included
//	  |     /      V    V       |
//	  |    /                    |            drop: its time, and the amount spent above the refill before it
//	  |   /                     '---------   baseline: the mean of the last settled segment
//	  |  / ramp-up: not settled
//	  +----------------------------------- seconds
//
// Dips of up to half a minute, alternation between two levels, drift and sawtooth are not drops: a drop is sharp and
// lasting, and the rate does not return later.
//
// A rate is in bytes per second or in operations per second; the package treats both alike. Times are seconds since the
// start of the series. No code here reads a clock.
package detect
