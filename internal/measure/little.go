package measure

import "fmt"

// MinLittleShare is the share of the wanted concurrency under which the load generator,
// and not the storage, is what limits the result.
const MinLittleShare = 0.90

// Little compares the I/O that was really outstanding with the I/O that was asked for, by
// Little's law: mean number in the system = arrival rate times mean time in the system.
type Little struct {
	// Outstanding is the mean number of I/Os in flight: the sum over operations of the
	// rate times the mean latency.
	Outstanding float64
	// Wanted is jobs times queue depth, over all clients.
	Wanted float64
	// Share is Outstanding over Wanted.
	Share float64
	// GeneratorBound is Share under MinLittleShare.
	GeneratorBound bool
}

// CheckLittle applies the law to what one or more clients completed and how long it took.
// Both must be of the same window, differences on both sides. jobs and depth are those of
// all the clients together: clients*numjobs, and iodepth. Sync is not counted, because it is
// issued by a job that has no other I/O in flight, beside the queue depth.
//
// The law holds in every closed loop, so a share near 1 proves nothing about the storage.
func CheckLittle(rates Rates, latencies [NumOperations]Latency, jobs, depth uint64) (Little, error) {
	if jobs == 0 || depth == 0 {
		return Little{}, fmt.Errorf("check by Little's law: %d jobs of depth %d want no I/O", jobs, depth)
	}
	result := Little{Wanted: float64(jobs) * float64(depth)}
	for _, operation := range Operations {
		latency := &latencies[operation]
		if operation == Sync || latency.Count == 0 {
			continue
		}
		mean := latency.SumNanoseconds.float() / float64(latency.Count)
		result.Outstanding += rates[operation].OperationsPerSecond * mean / nanosecondsInSecond
	}
	result.Share = result.Outstanding / result.Wanted
	result.GeneratorBound = result.Share < MinLittleShare
	return result, nil
}
