// Package detect analyzes throughput series. It determines where a burst ended and at what level the rate continued,
// whether a load was steady, and beyond which load throughput gains little.
//
// No other package makes these calculations. Package detect has no side effects, and is tested against series with
// known results. docs/design/0034-detection.md describes the methods and their accuracy in those tests.
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
// Dips of up to half a minute, alternation between two levels, drift and sawtooth patterns are not drops: a drop is
// sharp and lasting, and the rate does not return later.
//
// A rate is in bytes per second or in operations per second; the package treats both alike. Times are seconds since the
// start of the series. No code here reads a clock.
package detect
