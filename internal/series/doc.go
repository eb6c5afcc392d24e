// Package series is what a run did over time: bytes and operations a second, latencies a minute, and the
// distribution of latencies of each step. The record of a run has figures alone; this is what charts and CSV are made
// of. It is pure.
//
//	Log                one a run
//	  Step             the newest attempt of each step
//	    Target
//	      Points       |--|--|--|  |--|--|     what all clients completed in each interval; a gap stays a gap
//	      Minutes      |-----|-----|           percentiles of a minute, from histograms that were added up
//	      Latency      ▂▅█▃▁                   buckets of an eighth of an octave over the measured time
//	      Clients                              the rate of each client
//
// [Log.Encode] makes it fit a size: of a log that is too large it joins neighbours, of the target with the most points
// first. Points that are joined keep their sums exactly; percentiles of minutes are never joined, because they cannot
// be, and are thinned out instead. [Log.Coarsened] says that it was done.
package series
