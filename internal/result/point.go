package result

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// Point is one load on a target with its figures: what a phase measured, a level of a drain, a step of a ramp or a cell
// of a sweep.
type Point struct {
	Phase  string
	Demand plan.Demand
	// Clients that made the load.
	Clients int
	limits.Rate
	LatencySeconds float64
	// Derived tells that the latency follows from the rate by Little's law, and was not measured.
	Derived bool
	// CPUShare and ThrottledShare of the busiest client, 0 to 1.
	CPUShare, ThrottledShare float64
	// Documented for these clients, and Credits by the name of the limit, of those that are followed.
	Documented limits.Computed
	Credits    map[string]limits.Fill
	// Emptied are limits whose credits were seen to end before.
	Emptied []string
	// Cached tells that it is meant to measure a cache, so that it is compared with none that is not.
	Cached bool
	// Valid tells that the figures measure what was asked for.
	Valid bool

	floorSeconds, deeperGain float64
}

const (
	// sameBlock is how far two mean sizes of operations of one kind of load may be apart, as a share.
	sameBlock = 0.02
	// leastDeeper is how much more has to be outstanding to count as deeper, and aimDeeper what is looked for.
	leastDeeper, aimDeeper = 1.25, 2.0
	// sameLatency is how far the latencies of the two shallowest steps may be apart for neither to have a wait in it.
	sameLatency = 0.10
	// sameOutstanding and sameRate are how far a step may be from another to stand for it.
	sameOutstanding, sameRate = 0.05, 0.05
	// exceeded is by how much a rate has to be over a baseline to show that there were credits.
	exceeded = 1.25
)

// alike tells loads that differ only in how much is asked for at a time.
func (p *Point) alike(q *Point) bool {
	a, b := p.Demand.Load, q.Demand.Load
	return a.Operation == b.Operation && p.Cached == q.Cached && a.BlockBytes > 0 && math.Abs(a.BlockBytes-b.BlockBytes) <= sameBlock*a.BlockBytes
}

// Relate finds for each point what others show of it: the latency of a single operation, and what more outstanding
// would have brought.
func Relate(points []*Point) {
	for _, p := range points {
		p.floorSeconds, p.deeperGain = floorOf(p, points), gainOf(p, points)
	}
}

// floorOf is the latency of one operation alone: of the steps with one outstanding, the lowest. Where there is none, the
// shallowest step will do if the next one has the same latency: then operations do not wait in either.
func floorOf(p *Point, points []*Point) float64 {
	floor := 0.0
	var first, second *Point
	for _, q := range points {
		if !q.Valid || q.Derived || q.LatencySeconds <= 0 || q.Demand.Outstanding <= 0 || !p.alike(q) {
			continue
		}
		if q.Demand.Outstanding < leastDeeper && (floor == 0 || q.LatencySeconds < floor) {
			floor = q.LatencySeconds
		}
		switch {
		case first == nil || q.Demand.Outstanding < first.Demand.Outstanding:
			first, second = q, first
		case second == nil || q.Demand.Outstanding < second.Demand.Outstanding:
			second = q
		}
	}
	if floor == 0 && second != nil && second.Demand.Outstanding >= leastDeeper*first.Demand.Outstanding &&
		math.Abs(second.LatencySeconds-first.LatencySeconds) <= sameLatency*first.LatencySeconds {
		return first.LatencySeconds
	}
	return floor
}

// gainOf is the rate of a step of the same phase and clients with twice as much outstanding, or about that, over this
// one's. Steps of other phases were measured with other credits, and other clients have other machines.
func gainOf(p *Point, points []*Point) float64 {
	if gain := deeperIn(p, points); gain > 0 {
		return gain
	}
	// A step of a ramp with as much outstanding, and as fast, had the same credits, and stands for it.
	for _, q := range points {
		same := q != p && q.Valid && q.Clients == p.Clients && p.alike(q) && within(q.Demand.Outstanding, p.Demand.Outstanding, sameOutstanding) &&
			within(q.OperationsPerSecond, p.OperationsPerSecond, sameRate)
		if !same {
			continue
		}
		if gain := deeperIn(q, points); gain > 0 {
			return gain
		}
	}
	return 0
}

// deeperIn is gainOf by the point's own phase; 0 where it has no deeper step.
func deeperIn(p *Point, points []*Point) float64 {
	var deeper *Point
	off := math.Inf(1)
	for _, q := range points {
		if !q.Valid || q.Phase != p.Phase || q.Clients != p.Clients || !p.alike(q) || q.Demand.Outstanding < leastDeeper*p.Demand.Outstanding {
			continue
		}
		if away := math.Abs(math.Log(q.Demand.Outstanding / (aimDeeper * p.Demand.Outstanding))); away < off {
			deeper, off = q, away
		}
	}
	if deeper == nil || p.OperationsPerSecond <= 0 || p.Demand.Outstanding <= 0 {
		return 0
	}
	gain, ratio := deeper.OperationsPerSecond/p.OperationsPerSecond, deeper.Demand.Outstanding/p.Demand.Outstanding
	if ratio < aimDeeper { // less than twice as much can bring less than twice as much
		gain = 1 + (gain-1)*(aimDeeper-1)/(ratio-1)
	}
	return max(gain, 0.01)
}

// judged is what held the point's rate back.
func (p *Point) judged() limits.Attribution {
	m := limits.Measured{
		Load: p.Demand.Load, Rate: p.Rate, LatencySeconds: p.LatencySeconds, Outstanding: p.Demand.Outstanding, FloorSeconds: p.floorSeconds, DeeperGain: p.deeperGain,
		CPUShare: p.CPUShare, ThrottledShare: p.ThrottledShare, WorkingSetBytes: p.Demand.DatasetBytes, Random: p.Demand.Random, Asked: p.Demand.Limit,
		Credits: p.Credits,
	}
	fills := map[string]limits.Fill{}
	for index := range p.Documented.Limits {
		limit := &p.Documented.Limits[index]
		fill, followed := p.Credits[limit.Name]
		above := p.BytesPerSecond
		if limit.Dimension == limits.Operations {
			above = p.OperationsPerSecond
		}
		// Credits that a rate shows to be there are not gone, whatever the account says.
		if followed && !(above > exceeded*limit.Baseline && fill.Most < partEmpty) {
			fills[limit.Name] = fill
		}
	}
	m.Credits = fills
	return p.Documented.Attribute(m.AtLevel(p.Rate, p.LatencySeconds, p.Emptied...))
}

// loadOf completes what is asked by what was measured: the mean size of operations where they differ, and the rate of
// operations of a known size where the tool does not count them.
func (p *Point) complete() {
	if p.Demand.Load.BlockBytes == 0 && p.BytesPerSecond > 0 && p.OperationsPerSecond > 0 {
		p.Demand.Load.BlockBytes = p.BytesPerSecond / p.OperationsPerSecond
	}
	if p.Demand.Load.BlockBytes > 0 && p.BytesPerSecond > 0 {
		p.OperationsPerSecond = p.BytesPerSecond / p.Demand.Load.BlockBytes
	}
}

// NewPoint makes a point of figures a second; latency is 0 where it was not measured.
func NewPoint(phase string, demand plan.Demand, clients int, rate limits.Rate, latencySeconds float64) *Point {
	made := &Point{Phase: phase, Demand: demand, Clients: clients, Rate: rate, LatencySeconds: latencySeconds, Valid: rate.BytesPerSecond > 0}
	made.complete()
	return made
}

// PointOfStep makes one of a step of a ramp or a cell of a sweep.
func PointOfStep(phase string, kind v1alpha1.PhaseKind, demand plan.Demand, step *v1alpha1.StepResult) *Point {
	var done waits
	for _, operation := range step.Operations {
		done.add(operation.Operation, operation.BytesPerSecond, operation.IOPSMilli, operation.MeanNanoseconds)
	}
	made := NewPoint(phase, demand, int(step.Clients), done.rate, done.latency())
	made.CPUShare, made.ThrottledShare = share(step.ClientCPUPermille), share(step.ThrottledPermille)
	for _, warning := range step.Warnings {
		made.Valid = made.Valid && warning.Severity(kind) != v1alpha1.SeverityDisqualifying
	}
	return made
}

// PointOfTarget makes one of all that a phase measured.
func PointOfTarget(phase string, kind v1alpha1.PhaseKind, demand plan.Demand, target *v1alpha1.TargetResult) *Point {
	var done waits
	for i := range target.Operations {
		operation := &target.Operations[i]
		var bytes, iops, nanoseconds int64
		if operation.IOPSMilli != nil {
			iops = *operation.IOPSMilli
		}
		if operation.BytesPerSecond != nil {
			bytes = *operation.BytesPerSecond
		}
		if operation.Latency != nil {
			nanoseconds = operation.Latency.MeanNanoseconds
		}
		done.add(operation.Operation, bytes, iops, nanoseconds)
	}
	made := NewPoint(phase, demand, int(target.Clients), done.rate, done.latency())
	made.CPUShare, made.ThrottledShare = share(target.ClientCPUPermille), share(target.ThrottledPermille)
	for _, warning := range target.Warnings {
		made.Valid = made.Valid && warning.Type.Severity(kind) != v1alpha1.SeverityDisqualifying
	}
	return made
}

// AtLevel is the point at one level of a drain. Its latency follows from Little's law, where the load was seen to keep
// as many operations outstanding as was asked for.
func (p *Point) AtLevel(rate limits.Rate) *Point {
	made := *p
	made.Rate, made.Derived, made.LatencySeconds = rate, true, 0
	made.complete()
	if asked := p.Demand.Outstanding; asked > 0 && p.LatencySeconds > 0 && made.OperationsPerSecond > 0 {
		if outstanding := p.OperationsPerSecond * p.LatencySeconds; outstanding >= measure.MinLittleShare*asked {
			made.LatencySeconds = min(outstanding, asked) / made.OperationsPerSecond
		}
	}
	return &made
}

// waits adds up what was done in a second, and how long it took. A sync moves nothing, and whoever waits for it asks for
// nothing else: its time is part of that of the writes.
type waits struct {
	rate    limits.Rate
	seconds float64
	// untimed tells that the time of some is not known, so that the mean is not.
	untimed bool
}

func (w *waits) add(operation v1alpha1.Operation, bytesPerSecond, iopsMilli, nanoseconds int64) {
	iops := float64(iopsMilli) / 1000
	w.untimed = w.untimed || iops > 0 && nanoseconds <= 0
	w.seconds += float64(nanoseconds) / 1e9 * iops
	if operation == v1alpha1.OperationSync {
		return
	}
	w.rate.BytesPerSecond += float64(bytesPerSecond)
	w.rate.OperationsPerSecond += iops
}

// latency is the mean time of an operation that moves something; 0 where it is not known.
func (w *waits) latency() float64 {
	if w.untimed || w.rate.OperationsPerSecond <= 0 {
		return 0
	}
	return w.seconds / w.rate.OperationsPerSecond
}

func share(permille *int64) float64 {
	if permille == nil {
		return 0
	}
	return float64(max(0, *permille)) / 1000
}
