package measure

import "fmt"

// AlignOperations joins two records of one client that count different things between
// different instants into one series: the intervals, bytes and warm-up of the first, with
// the operations of the second spread over those intervals. Operations of the second
// before the first interval go to the first sample, those after the last to the last, so
// both totals are kept exactly. Operations without any interval are an error.
//
// It is for fio's --status-interval: io_bytes and runtime in a dump are of the instant when
// it was asked for, but total_ios and bins are of the instant when it was written, which is
// later when a job is inside an I/O (show_running_run_stats in stat.c). Measured with four
// jobs at 42 MB/s, one stopped for 4.6 s, after differences of timestamp_ms, runtime,
// io_bytes and total_ios*64 KiB:
//
//	timestamp   runtime   bytes      operations
//	   999 ms   1,001 ms   41.9 MB    41.9 MB    42 MB/s either way
//	 5,480 ms     998 ms   40.7 MB   183.6 MB    bytes over runtime: 40.8 MB/s, over timestamp: 7.4
//	    31 ms   4,514 ms  151.3 MB     9.0 MB    bytes over runtime: 33.5 MB/s, over timestamp: 4,879
//
// So bytes over differences of runtime, and operations over those of timestamp_ms, need no
// MergeLate.
func AlignOperations(bytes, operations *Series) (*Series, error) {
	total := operations.Total()
	if bytes.Len() == 0 {
		for i, c := range total {
			if c.Operations != 0 {
				return nil, fmt.Errorf("align operations: %d of %v have no interval to be in", c.Operations, Operation(i))
			}
		}
		return &Series{}, nil
	}
	aligned := make([]Sample, bytes.Len())
	var before [NumOperations]Counter
	for i := range aligned {
		aligned[i] = bytes.At(i)
		now := operations.CountersAt(aligned[i].EndNanoseconds)
		if i == len(aligned)-1 {
			now = total
		}
		for operation, c := range minus(now, before) {
			aligned[i].Counters[operation].Operations = c.Operations
		}
		before = now
	}
	return NewSeries(aligned)
}
