package series

import (
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// Log is the series of a run, in the order in which its steps ended. The zero value is empty and ready to use; a nil
// Log takes nothing and has nothing.
type Log struct {
	Steps []Step
	// Coarsened says that neighbours were joined, or minutes left out, to fit a size.
	Coarsened bool
}

// Step is one step of the run, of its newest attempt.
type Step struct {
	ID      string
	Attempt int
	Targets []Target
}

// Target is one target in a step. Instants are nanoseconds since 1970 in the conductor's clock.
type Target struct {
	Name    string
	Points  []Point
	Minutes []Minute
	Latency []Distribution
	Clients []ClientRate
}

// State says what a point is worth.
type State uint8

// The states, the worse the higher.
const (
	// Measured: every client was running, and was to.
	Measured State = iota
	// WarmUp: a client was warming up. It spends credits, and is in no figure.
	WarmUp
	// Transition: clients began or ended, or what was in flight was completed.
	Transition
	numStates
)

// String is the state as it is written.
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

// Point is what all clients of a target completed in an interval. Points are in order and do not overlap.
type Point struct {
	StartNanoseconds, EndNanoseconds int64
	State                            State
	Counters                         [measure.NumOperations]measure.Counter
}

// Seconds is how long the interval is.
func (p *Point) Seconds() float64 { return float64(p.EndNanoseconds-p.StartNanoseconds) / 1e9 }

// BytesPerSecond of an operation; 0 of an interval without a length.
func (p *Point) BytesPerSecond(operation measure.Operation) float64 {
	if p.EndNanoseconds <= p.StartNanoseconds {
		return 0
	}
	return float64(p.Counters[operation].Bytes) / p.Seconds()
}

// OperationsPerSecond of an operation; 0 of an interval without a length.
func (p *Point) OperationsPerSecond(operation measure.Operation) float64 {
	if p.EndNanoseconds <= p.StartNanoseconds {
		return 0
	}
	return float64(p.Counters[operation].Operations) / p.Seconds()
}

// Minute is the latency of one operation in about a minute, over all clients. A percentile with fewer than ten samples
// above it is 0: there is none.
type Minute struct {
	StartNanoseconds, EndNanoseconds int64
	Operation                        measure.Operation
	Samples                          uint64
	P50, P95, P99, P999              uint64
}

// MinuteOf takes the percentiles of a histogram.
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

// Distribution is the latencies of one operation over the measured time of a step, of all clients.
type Distribution struct {
	Operation measure.Operation
	Bins      []Bin
}

// Bin counts latencies from Low to below High. The last one of fio's grid has no upper end: High is 0.
type Bin struct {
	LowNanoseconds, HighNanoseconds, Count uint64
}

// ClientRate is the throughput of one client in the time in which all were running.
type ClientRate struct {
	Client         int
	BytesPerSecond int64
}

// Add takes the series of a step in place of those of an earlier attempt.
func (l *Log) Add(step Step) {
	if l == nil {
		return
	}
	l.Steps = slices.DeleteFunc(l.Steps, func(known Step) bool { return known.ID == step.ID })
	l.Steps = append(l.Steps, step)
}

// Step finds a step; nil where nothing is known of it.
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

// Target finds a target of a step; nil where nothing is known of it.
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

// Empty says that there is nothing in it.
func (l *Log) Empty() bool { return l == nil || len(l.Steps) == 0 }
