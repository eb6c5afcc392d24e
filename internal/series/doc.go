// Package series holds the behaviour of a run over time: bytes and operations per second, latencies per minute, and
// the latency distribution of each step. The status of a run holds only the figures; charts and CSV are produced
// from these series. The package is pure.
//
//	Log                one per run
//	  Step             the newest attempt of each step
//	    Target
//	      Points       |--|--|--|  |--|--|     what all clients completed in each interval; a gap stays a gap
//	      Minutes      |-----|-----|           percentiles of a minute, from merged histograms
//	      Latency      ▂▅█▃▁                   buckets of an eighth of an octave over the measured time
//	      Clients                              the throughput of each client
//
// [Log.Encode] makes a log fit a size limit by repeatedly coarsening the largest target. Joined points keep their
// sums exactly. Percentiles of minutes cannot be joined, so every other minute is dropped instead. [Log.Coarsened]
// records that this happened.
package series
