// Package series contains the time series of a run: bytes and operations per second, latencies per minute, and the
// latency distribution of each step. The status of a run contains only the figures; charts and CSV are produced from
// these series. The package does no I/O.
//
//	Log                one per run
//	  Step             the newest attempt of each step
//	    Target
//	      Points       |--|--|--|  |--|--|     what all clients completed in each interval; gaps are preserved
//	      Minutes      |-----|-----|           percentiles of a minute, from merged histograms
//	      Latency      ▂▅█▃▁                   buckets of an eighth of an octave over the measured time
//	      Clients                              the throughput of each client
//
// [Log.Encode] makes a log fit a size limit by repeatedly coarsening the largest target or observation. The counters of
// joined points are added up, so no bytes or operations are lost. Percentiles of minutes cannot be joined, so every
// other minute is dropped instead. [Log.Coarsened] records that this happened.
package series
