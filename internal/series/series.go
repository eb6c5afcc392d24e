package series

import (
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// Log holds the series of a run, one entry per step, in the order in which the steps ended. The zero value is an empty
// Log, ready to use. A nil Log is empty and ignores Add.
type Log struct {
	Steps []Step
	// Observed holds the values of the run's observations, in the order of the steps.
	Observed []Observed
	// Coarsened is true if neighbouring points were joined, or data left out, to fit a size limit.
	Coarsened bool
}

// Step holds the series of the newest attempt of one step.
type Step struct {
	ID      string
	Attempt int
	Targets []Target
}

// Target holds the series of one target in a step. Timestamps are Unix time in nanoseconds on the conductor's clock.
type Target struct {
	Name    string
	Points  []Point
	Minutes []Minute
	Latency []Distribution
	Clients []ClientRate
}

// State is the kind of time that a point covers: measured time, warm-up or transition.
type State uint8

// The values of State, which describe what the clients were doing.
const (
	// Measured means that all clients were running and had completed their warm-up.
	Measured State = iota
	// WarmUp means that a client was warming up. I/O during this time spends credits but is not included in any figure.
	WarmUp
	// Transition means that clients were starting, stopping, or completing the I/O in flight.
	Transition
	numStates
)

// String returns the name of the state as written to files.
func (s State) String() string {
	switch s {
	case Measured:
		return "measured"
	case WarmUp:
		return "warm-up"
	case Transition, numStates:
	}
	return "transition"
}

// Point holds the bytes and operations that all clients of a target completed in an interval. Points are sorted by time
// and do not overlap.
type Point struct {
	StartNanoseconds, EndNanoseconds int64
	State                            State
	Counters                         [measure.NumOperations]measure.Counter
}

// Join extends p to the end of the next point, and adds the next point's counters to those of p.
func (p *Point) Join(next *Point) {
	p.EndNanoseconds = next.EndNanoseconds
	for operation, counter := range next.Counters {
		p.Counters[operation].Bytes = measure.Sum(p.Counters[operation].Bytes, counter.Bytes)
		p.Counters[operation].Operations = measure.Sum(p.Counters[operation].Operations, counter.Operations)
	}
}

// Seconds returns the length of the interval.
func (p *Point) Seconds() float64 { return float64(p.EndNanoseconds-p.StartNanoseconds) / 1e9 }

// BytesPerSecond returns the throughput of an operation, or 0 if the interval has no length.
func (p *Point) BytesPerSecond(operation measure.Operation) float64 {
	if p.EndNanoseconds <= p.StartNanoseconds {
		return 0
	}
	return float64(p.Counters[operation].Bytes) / p.Seconds()
}

// OperationsPerSecond returns the IOPS of an operation, or 0 if the interval has no length.
func (p *Point) OperationsPerSecond(operation measure.Operation) float64 {
	if p.EndNanoseconds <= p.StartNanoseconds {
		return 0
	}
	return float64(p.Counters[operation].Operations) / p.Seconds()
}

// Minute holds the latency percentiles of one operation over about a minute and all clients, in nanoseconds. A
// percentile is 0 if it is unknown, for example because fewer than ten samples are above it.
type Minute struct {
	StartNanoseconds, EndNanoseconds int64
	Operation                        measure.Operation
	Samples                          uint64
	P50, P95, P99, P999              uint64
}

// MinuteOf computes the percentiles of a histogram. start and end are Unix time in nanoseconds.
func MinuteOf(start, end int64, operation measure.Operation, histogram *measure.Histogram) Minute {
	made := Minute{StartNanoseconds: start, EndNanoseconds: end, Operation: operation, Samples: histogram.Count()}
	for _, one := range []struct {
		percent float64
		into    *uint64
	}{{50, &made.P50}, {95, &made.P95}, {99, &made.P99}, {99.9, &made.P999}} {
		if value, ok := histogram.Percentile(one.percent); ok {
			*one.into = value
		}
	}
	return made
}

// Distribution holds the latency distribution of one operation over all clients and the measured time of a step.
type Distribution struct {
	Operation measure.Operation
	Bins      []Bin
}

// Bin counts the latencies from Low up to, but not including, High. High is 0 in the last bin, which has no upper bound
// because fio's last bucket has none.
type Bin struct {
	LowNanoseconds, HighNanoseconds, Count uint64
}

// ClientRate is the throughput of one client, computed over the time during which all clients were running.
type ClientRate struct {
	Client         int
	BytesPerSecond int64
}

// Add appends the series of a step, and removes the series of an earlier attempt of the same step.
func (l *Log) Add(step Step) {
	if l == nil {
		return
	}
	l.Steps = slices.DeleteFunc(l.Steps, func(known Step) bool { return known.ID == step.ID })
	l.Steps = append(l.Steps, step)
}

// Observe replaces the values of the run's observations.
func (l *Log) Observe(all []Observed) {
	if l != nil {
		l.Observed = all
	}
}

// Step returns the series of a step, or nil if there are none.
func (l *Log) Step(id string) *Step {
	if l == nil {
		return nil
	}
	for i := range l.Steps {
		if l.Steps[i].ID == id {
			return &l.Steps[i]
		}
	}
	return nil
}

// Target returns the series of a target, or nil if there are none.
func (s *Step) Target(name string) *Target {
	if s == nil {
		return nil
	}
	for i := range s.Targets {
		if s.Targets[i].Name == name {
			return &s.Targets[i]
		}
	}
	return nil
}

// Empty reports whether the log has neither steps nor observations.
func (l *Log) Empty() bool { return l == nil || len(l.Steps)+len(l.Observed) == 0 }
