package limits

import "github.com/storagebench/storagebench/internal/credits"

// Cause is something that may have held a rate back.
type Cause string

// Possible values of Cause.
const (
	CauseDisk        Cause = "Disk"        // limited by the disks or the volume
	CauseLimit       Cause = "Limit"       // limited by a limit that the specification sets, whose layer is unknown
	CauseNetwork     Cause = "Network"     // limited by the network of the storage server
	CauseFlow        Cause = "Flow"        // limited by a single network connection
	CauseInstance    Cause = "Instance"    // limited by the client's machine: its network or its path to the disks
	CauseCredits     Cause = "Credits"     // limited by a baseline, because the credits are spent
	CauseServerCache Cause = "ServerCache" // limited by the speed of the storage server's cache
	CauseClientCPU   Cause = "ClientCPU"
	CauseQueueDepth  Cause = "QueueDepth" // limited by too few outstanding operations for the latency
	CauseTool        Cause = "Tool"       // limited by the tool, or by the load's rate limit
	CauseUnknown     Cause = "Unknown"
)

// Rate is a throughput in bytes and in operations per second.
type Rate struct {
	BytesPerSecond, OperationsPerSecond float64
}

// Fill is the known range of a limit's remaining credits, in percent of a full bucket.
type Fill struct {
	// Most is the fill if the bucket was full at first. Least is the fill if it was empty at first.
	Most, Least float64
	// Emptied is true if the rate was seen to fall to the baseline and stay there.
	Emptied bool
}

// FillOf returns the fill that a credits.Account estimates. emptied becomes Fill.Emptied.
func FillOf(account credits.Account, emptied bool) Fill {
	return Fill{Most: account.Percent(), Least: account.LeastPercent(), Emptied: emptied}
}

// spent is the highest fill, in percent, at which a bucket counts as empty.
const spent = 2

// gone reports whether the credits are certainly spent, and left reports whether some credits certainly remain. If f is
// nil, the credits are not tracked, and both methods return false.
func (f *Fill) gone() bool { return f != nil && (f.Emptied || f.Most <= spent) }
func (f *Fill) left() bool { return f != nil && !f.Emptied && f.Least > spent }

// fill returns the fill of a limit, or nil if its credits are not tracked.
func (m Measured) fill(limit *Limit) *Fill {
	if fill, creditAccount := m.Credits[limit.Name]; creditAccount {
		return &fill
	}
	return nil
}

// Measured holds the figures of a phase, or of one level of it, over all clients. Values that were not measured are
// zero.
type Measured struct {
	// Load is the requested load. Its CachedShare is set if the load is meant to read from a cache. CachedShare affects
	// only the documented limits; the attribution uses WorkingSetBytes instead.
	Load Load
	Rate
	// LatencySeconds is the mean latency of an operation.
	LatencySeconds float64
	// Outstanding is the number of operations that the load keeps outstanding: clients x jobs x queue depth.
	Outstanding float64
	// FloorSeconds is the mean latency of a step with one operation outstanding.
	FloorSeconds float64
	// DeeperGain is the rate of a step with more operations outstanding, as a multiple of Rate: 1.5 means that the
	// rate was 50 % higher.
	DeeperGain float64
	// CPUShare is the CPU use of the busiest client, as a share of the CPU that it may use, 0 to 1. ThrottledShare is
	// the share of CPU quota periods in which a client was throttled at its CPU limit.
	CPUShare, ThrottledShare float64
	// WorkingSetBytes is the size of the data that is read, over all clients; Random is true if it is read in random
	// order.
	WorkingSetBytes float64
	Random          bool
	// Credits holds the fills of limits whose credits are tracked, by the name of the limit.
	Credits map[string]Fill
	// Asked is the rate limit of the load.
	Asked Rate
}

// AtLevel returns a copy of the phase's figures with the rate and latency of one level. The named buckets count as
// empty, because a lasting drop before the level shows that they were emptied.
func (m Measured) AtLevel(rate Rate, latencySeconds float64, emptied ...string) Measured {
	m.Rate, m.LatencySeconds = rate, latencySeconds
	fills := map[string]Fill{}
	for name, fill := range m.Credits {
		fills[name] = fill
	}
	for _, name := range emptied {
		fills[name] = Fill{Emptied: true}
	}
	m.Credits = fills
	return m
}

// share returns the rate as a share of a bound. It compares operations if the block size is known, otherwise the
// bound's own dimension. It returns 0 if the rate and the bound cannot be compared.
func (r Rate) share(of Bound) float64 {
	switch {
	case of.OperationsPerSecond > 0 && r.OperationsPerSecond > 0:
		return r.OperationsPerSecond / of.OperationsPerSecond
	case of.BytesPerSecond > 0:
		return r.BytesPerSecond / of.BytesPerSecond
	}
	return 0
}

// shareOf returns the share of a rate limit that was reached, in bytes or in operations, whichever is larger.
func (r Rate) shareOf(ceiling Rate) float64 {
	share := 0.0
	if ceiling.BytesPerSecond > 0 {
		share = r.BytesPerSecond / ceiling.BytesPerSecond
	}
	if ceiling.OperationsPerSecond > 0 {
		share = max(share, r.OperationsPerSecond/ceiling.OperationsPerSecond)
	}
	return share
}

// outstandingShare returns the mean number of outstanding operations, by Little's law, as a share of the configured
// number. It returns false if the share is unknown.
func (m Measured) outstandingShare() (float64, bool) {
	if m.LatencySeconds <= 0 || m.Outstanding <= 0 || m.OperationsPerSecond <= 0 {
		return 0, false
	}
	return m.OperationsPerSecond * m.LatencySeconds / m.Outstanding, true
}
