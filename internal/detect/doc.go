// Package detect finds in a series of throughput what a store did: where a burst ended and at what
// level it went on, whether a load was steady, where more load gained nothing.
//
// It exists so that the mathematics is in one place, pure, and tested against series whose truth is
// known. docs/detection.md tells how it works and how well, with the table of those tests.
//
// A burst that ends looks like this; what is reported stands beside it:
//
//	rate
//	  |      .----. .--. .------.            burst: the mean of the first settled segment, dips included
//	  |     /      V    V       |
//	  |    /                    |            drop: its time, what was spent above the refill before it
//	  |   /                     '---------   baseline: the mean of the last settled segment
//	  |  / ramp-up: not settled
//	  +----------------------------------- seconds
//
// Dips of up to half a minute, turns between two levels, drift and sawtooth are no drops: a drop is
// lasting, with no later return, and sharp.
//
// A rate is in bytes a second or in operations a second; the package does not mind. Times are seconds
// since the start of the series. No code here reads a clock.
package detect
