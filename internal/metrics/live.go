package metrics

import (
	"maps"
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// LiveRun is the state of a run's live session at one instant.
type LiveRun struct {
	Namespace, Benchmark, Name string
	// Clients counts the clients by target and connection state.
	Clients map[string]map[string]int
	// Samples counts the samples by target.
	Samples map[string]SampleCount
	// Loads are the bytes and operations completed since the start of the session. They never decrease.
	Loads map[Load]measure.Counter
	// Latencies are the latencies of the current or last step.
	Latencies map[Load]Latency
}

// Load identifies the operations of one kind that a phase performs on a target.
type Load struct {
	Phase, Target string
	Operation     measure.Operation
}

// SampleCount counts the samples received, and the seconds without a sample.
type SampleCount struct{ Taken, Lost uint64 }

// Latency holds the latency distributions of a step: Whole covers the step so far, and Newest covers the most
// recently reported minute.
type Latency struct{ Whole, Newest measure.Histogram }

// connections lists all exported connection states. A state without clients is exported as 0.
var connections = []string{"Connecting", "Ready", "Lost", "Unfit", "Finished"}

// Live returns the metrics of a live run: its clients, samples, totals and latencies.
func Live(run *LiveRun) []Point {
	p := points{common: []string{run.Namespace, run.Benchmark, run.Name}}
	for _, target := range slices.Sorted(maps.Keys(run.Clients)) {
		for _, state := range connections {
			p.add(liveClients, float64(run.Clients[target][state]), target, state)
		}
	}
	for target, count := range run.Samples {
		p.add(liveSamples, float64(count.Taken), target)
		p.add(liveSamplesLost, float64(count.Lost), target)
	}
	for load, counter := range run.Loads {
		labels := []string{load.Phase, load.Target, load.Operation.String()}
		p.add(liveBytes, float64(counter.Bytes), labels...)
		p.add(liveOperations, float64(counter.Operations), labels...)
	}
	for load, latency := range run.Latencies {
		for _, percentile := range percentiles {
			labels := []string{load.Phase, load.Target, load.Operation.String(), percentile.label}
			if value, known := latency.Whole.Percentile(percentile.value); known {
				p.add(liveLatency, float64(value)/nanoseconds, labels...)
			}
			if value, known := latency.Newest.Percentile(percentile.value); known {
				p.add(liveNewest, float64(value)/nanoseconds, labels...)
			}
		}
	}
	return p.all
}

// Connected counts the connected agents.
func Connected(runs []LiveRun) int {
	sum := 0
	for i := range runs {
		for _, states := range runs[i].Clients {
			sum += states["Ready"]
		}
	}
	return sum
}
