package limits

import "github.com/storagebench/storagebench/internal/credits"

// Cause is what held a rate back.
type Cause string

// The causes.
const (
	CauseDisk        Cause = "Disk"        // the disks or the volume
	CauseNetwork     Cause = "Network"     // the network of the storage server
	CauseFlow        Cause = "Flow"        // one connection
	CauseInstance    Cause = "Instance"    // the client's machine: its network or its way to the disks
	CauseCredits     Cause = "Credits"     // a limit that is at its baseline since its credits are gone
	CauseServerCache Cause = "ServerCache" // the cache of the storage server, at its own speed
	CauseClientCPU   Cause = "ClientCPU"
	CauseQueueDepth  Cause = "QueueDepth" // too little was asked for at a time, at the latency that there is
	CauseTool        Cause = "Tool"       // the tool, or the rate that it was told
	CauseUnknown     Cause = "Unknown"
)

// Rate is what passed a second.
type Rate struct {
	BytesPerSecond, OperationsPerSecond float64
}

// Fill is what is known of the credits of a limit, in percent of a full bucket.
type Fill struct {
	// Most is the fill if the bucket was full at first, Least if it was empty.
	Most, Least float64
	// Emptied tells that a rate was seen to fall to the baseline, and has stayed there.
	Emptied bool
}

// FillOf takes the fill from an account of package credits.
func FillOf(account credits.Account, emptied bool) Fill {
	return Fill{Most: account.Percent(), Least: account.LeastPercent(), Emptied: emptied}
}

// spent percent are no credits to speak of; above it there are some.
const spent = 2

// gone tells that there are no credits for certain, left that there are some. Of credits that nobody follows, nil,
// neither is known.
func (f *Fill) gone() bool { return f != nil && (f.Emptied || f.Most <= spent) }
func (f *Fill) left() bool { return f != nil && !f.Emptied && f.Least > spent }

// fill of a limit, nil where its credits are not followed.
func (m Measured) fill(limit *Limit) *Fill {
	if fill, followed := m.Credits[limit.Name]; followed {
		return &fill
	}
	return nil
}

// Measured is what a phase, or one level of it, came to over all clients. What was not measured is zero.
type Measured struct {
	// Load that was asked for. Its CachedShare counts for what is documented, where a load is meant to read from a cache;
	// for what held it back WorkingSetBytes says more.
	Load Load
	Rate
	// LatencySeconds is the mean time of an operation.
	LatencySeconds float64
	// Outstanding is what was asked for at a time: clients x jobs x queue depth.
	Outstanding float64
	// FloorSeconds is the mean latency of a step with one operation outstanding.
	FloorSeconds float64
	// DeeperGain is the rate of a step with more outstanding, over this one's: 1.5 for half as much again.
	DeeperGain float64
	// CPUShare of what the busiest client may use, 0 to 1; ThrottledShare of the periods in which a client was
	// stopped at its limit.
	CPUShare, ThrottledShare float64
	// WorkingSetBytes that reads go to, over all clients, and whether they go there in random order.
	WorkingSetBytes float64
	Random          bool
	// Nodes are the rates of the client nodes, Flows those of connections, in bytes and operations a second.
	Nodes, Flows []Rate
	// Credits by the name of the limit, for limits whose credits are followed.
	Credits map[string]Fill
	// ToolCeiling is what the tool reaches without storage, Asked the rate that it was told not to exceed.
	ToolCeiling, Asked Rate
}

// AtLevel is the same phase at another rate and latency: one level of it. A level that follows a lasting drop
// has emptied the buckets that are named.
func (m Measured) AtLevel(rate Rate, latencySeconds float64, emptied ...string) Measured {
	m.Rate, m.LatencySeconds = rate, latencySeconds
	m.Nodes, m.Flows = nil, nil // theirs are means over all levels
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

// share is what was reached of a bound: in operations where the block size is known, otherwise in the bound's
// own dimension; 0 where they cannot be compared.
func (r Rate) share(of Bound) float64 {
	switch {
	case of.OperationsPerSecond > 0 && r.OperationsPerSecond > 0:
		return r.OperationsPerSecond / of.OperationsPerSecond
	case of.BytesPerSecond > 0:
		return r.BytesPerSecond / of.BytesPerSecond
	}
	return 0
}

// shareOf is what was reached of a ceiling that is a rate, by the dimension that is nearer to it.
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

// weighted is the mean of what nodes or flows reached of their part of a bound, by how much passed each: a
// quiet one says little about what holds back the sum. False where they are not known one by one.
func weighted(parts []Rate, units int, of Bound) (float64, bool) {
	if len(parts) == 0 || units < 1 {
		return 0, false
	}
	each := of
	each.BytesPerSecond /= float64(units)
	each.OperationsPerSecond /= float64(units)
	sum, weights := 0.0, 0.0
	for _, part := range parts {
		weight := max(part.OperationsPerSecond, part.BytesPerSecond)
		sum += weight * part.share(each)
		weights += weight
	}
	if weights == 0 {
		return 0, false
	}
	return sum / weights, true
}

// little is the part of what was asked for at a time that was outstanding, by Little's law; false where it is
// not known.
func (m Measured) little() (float64, bool) {
	if m.LatencySeconds <= 0 || m.Outstanding <= 0 || m.OperationsPerSecond <= 0 {
		return 0, false
	}
	return m.OperationsPerSecond * m.LatencySeconds / m.Outstanding, true
}
