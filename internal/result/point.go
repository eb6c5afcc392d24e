package result

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// Point is one load on a target with its figures: a whole phase, a level of a drain, a step of a ramp or a cell of a
// sweep.
type Point struct {
	Phase  string
	Demand plan.Demand
	// Clients is the number of clients that generated the load.
	Clients int
	limits.Rate
	LatencySeconds float64
	// Derived is true if the latency was not measured but follows from the rate by Little's law.
	Derived bool
	// CPUShare is the CPU usage of the busiest client, as a share of the CPU that its load can use. ThrottledShare is
	// the share of CPU periods in which the most throttled client was throttled. Both are from 0 to 1.
	CPUShare, ThrottledShare float64
	// Documented holds the documented limits for these clients. Credits holds the fill level of each limit whose
	// credits are tracked, by the name of the limit.
	Documented limits.Computed
	Credits    map[string]limits.Fill
	// Emptied lists the limits whose credits ran out before this point, according to the measurement.
	Emptied []string
	// Cached is true if the point measures a cache on purpose. It is only compared with other such points.
	Cached bool
	// Valid is true if the figures measure what was requested.
	Valid bool

	floorSeconds, deeperGain float64
}

const (
	// sameBlock is the largest relative difference between mean operation sizes that count as equal.
	sameBlock = 0.02
	// leastDeeper is the smallest ratio of outstanding operations at which a step counts as deeper than another. Of
	// several deeper steps, the one whose ratio is closest to aimDeeper is used.
	leastDeeper, aimDeeper = 1.25, 2.0
	// If the latencies of the two steps with the fewest outstanding operations differ by at most sameLatency (a
	// relative difference), operations are assumed to queue in neither step.
	sameLatency = 0.10
	// sameOutstanding and sameRate limit the relative differences in outstanding operations and in rate between two steps
	// that can stand in for each other.
	sameOutstanding, sameRate = 0.05, 0.05
	// exceeded is the factor by which a rate must exceed a baseline to show that credits were available.
	exceeded = 1.25
)

// alike reports whether the loads of two points differ only in the number of outstanding operations.
func (p *Point) alike(q *Point) bool {
	a, b := p.Demand.Load, q.Demand.Load
	return a.Operation == b.Operation && p.Cached == q.Cached && a.BlockBytes > 0 && math.Abs(a.BlockBytes-b.BlockBytes) <= sameBlock*a.BlockBytes
}

// Relate adds what can be learned about each point from the others: the latency of a single operation, and the factor
// by which the rate rises with more outstanding operations.
func Relate(points []*Point) {
	for _, p := range points {
		p.floorSeconds, p.deeperGain = floorOf(p, points), gainOf(p, points)
	}
}

// floorOf returns the latency of a single operation: the lowest latency of the steps with one outstanding operation.
// Without such a step, it is the latency of the step with the fewest outstanding operations, provided that the step
// with the next higher number has the same latency: operations then queue in neither step.
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
		case q.Demand.Outstanding > first.Demand.Outstanding &&
			(second == nil || q.Demand.Outstanding < second.Demand.Outstanding):
			second = q
		}
	}
	if floor == 0 && second != nil && second.Demand.Outstanding >= leastDeeper*first.Demand.Outstanding &&
		math.Abs(second.LatencySeconds-first.LatencySeconds) <= sameLatency*first.LatencySeconds {
		return first.LatencySeconds
	}
	return floor
}

// gainOf returns the rate of a step with about twice as many outstanding operations, divided by this step's rate. It
// returns 0 if there is no such step. Both steps must be of the same phase and have the same number of clients: another
// phase had a different amount of credits, and other clients run on other machines.
func gainOf(p *Point, points []*Point) float64 {
	if gain := deeperIn(p, points); gain > 0 {
		return gain
	}
	// If another step has about the same number of outstanding operations and the same rate as this step, both had the
	// same amount of credits, so the other step can stand in for this one.
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

// deeperIn is like gainOf, but considers only the point's own phase. It returns 0 if the phase has no deeper step.
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
	if ratio < aimDeeper { // scale the gain to a doubling of the outstanding operations
		gain = 1 + (gain-1)*(aimDeeper-1)/(ratio-1)
	}
	return max(gain, 0.01)
}

// judged determines which limits may have held back the rate of the point p.
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
		// A rate well above the baseline shows that credits are available, so ignore an estimate that says otherwise.
		if followed && !(above > exceeded*limit.Baseline && fill.Most < partEmpty) {
			fills[limit.Name] = fill
		}
	}
	m.Credits = fills
	return p.Documented.Attribute(m.AtLevel(p.Rate, p.LatencySeconds, p.Emptied...))
}

// complete derives missing figures: the mean operation size if sizes differ, and the operation rate from the byte rate
// if the size is known.
func (p *Point) complete() {
	if p.Demand.Load.BlockBytes == 0 && p.BytesPerSecond > 0 && p.OperationsPerSecond > 0 {
		p.Demand.Load.BlockBytes = p.BytesPerSecond / p.OperationsPerSecond
	}
	if p.Demand.Load.BlockBytes > 0 && p.BytesPerSecond > 0 {
		p.OperationsPerSecond = p.BytesPerSecond / p.Demand.Load.BlockBytes
	}
}

// NewPoint creates a point from rates per second; latencySeconds is 0 if it was not measured.
func NewPoint(phase string, demand plan.Demand, clients int, rate limits.Rate, latencySeconds float64) *Point {
	made := &Point{Phase: phase, Demand: demand, Clients: clients, Rate: rate, LatencySeconds: latencySeconds, Valid: rate.BytesPerSecond > 0}
	made.complete()
	return made
}

// PointOfStep creates the point of a step of a ramp or a cell of a sweep.
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

// PointOfTarget creates one point from all figures that a phase measured on a target.
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

// AtLevel returns the point at one level of a drain. If the load kept the requested number of operations outstanding,
// the latency at the level follows from Little's law.
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

// waits adds up the rates of the operations that move data, and the total time that all operations take per second of
// the load. The time of syncs counts as time of the writes, because a sync moves no data and its caller issues no other
// requests while it waits.
type waits struct {
	rate    limits.Rate
	seconds float64
	// untimed is true if the time of some operations is unknown. The mean is then unknown too.
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

// latency returns the mean time of an operation that moves data, or 0 if unknown.
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
