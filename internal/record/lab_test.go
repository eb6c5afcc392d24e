package record_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// lab executes a run on a simulated store. It derives the clients' reports from what the store did, and records them as
// the operator does.
type lab struct {
	t     *testing.T
	run   *v1alpha1.BenchmarkRun
	plan  plan.Plan
	store *model.Model
	load  model.Load
	// now is the store's time since the start of the run.
	now time.Duration
	// busy returns the share of the CPU that the client used. nil means that it is not reported.
	busy func(operationsPerSecond float64) float64
	// latency replaces the store's latency in the client's reports while the client is at its ceiling, in operations per
	// second, because requests then wait before they are sent.
	latency time.Duration
	ceiling float64
}

// newLab freezes a benchmark with one target that was idle for some time, and records its storage.
func newLab(t *testing.T, benchmark *builders.BenchmarkBuilder, computed limits.Computed, idle time.Duration) *lab {
	t.Helper()
	spec := benchmark.Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	run := record.New(record.Identity{Name: "r", Namespace: "default", UID: "1", Benchmark: v1alpha1.BenchmarkReference{Name: "b"}, Hash: "a", Seed: 1}, spec, planned)
	record.Begin(run, builders.Start.Add(-idle))
	record.Storage(run, []v1alpha1.StorageDescription{limits.Record(spec.Targets[0].Name, limits.Description{}, computed)})
	return &lab{t: t, run: run, plan: planned}
}

// at converts a time of the store to an instant of the run.
func (l *lab) at(now time.Duration) time.Time { return builders.Start.Add(now) }

// all executes every step.
func (l *lab) all() {
	for _, step := range l.plan.Steps {
		l.step(step)
	}
}

func (l *lab) step(step plan.Step) {
	attempt := decide.Attempt{Step: step.ID, Number: 1}
	start := l.at(l.now)
	record.Intent(l.run, step, decide.Action{Attempt: attempt, Start: start, Deadline: start.Add(step.Limit)})
	length := step.WarmUp + step.Duration
	switch step.Purpose {
	case plan.Prepare, plan.Precondition:
		length = time.Second
	case plan.Idle:
		l.now += length
		record.Result(l.run, step, attempt, nil, l.at(l.now))
		return
	case plan.Measure, plan.Drain:
	}
	clients := []result.Client{l.client(step, length)}
	l.now += length
	record.Result(l.run, step, attempt, clients, l.at(l.now))
	// Operations in flight at the end complete before the next step begins.
	for range 60 {
		if _, under := l.store.Load(); under == 0 {
			break
		}
		l.now += time.Second
		l.store.Advance(l.now)
	}
}

// client returns the report of the only client of a step.
func (l *lab) client(step plan.Step, length time.Duration) result.Client {
	target := step.Targets[0]
	demand, _ := step.Demand(target)
	load := l.load
	load.Depth = max(1, int(demand.Outstanding))
	operation := measure.Write
	if step.Purpose == plan.Prepare {
		load.Kind, load.Depth = model.Write, 1
	}
	if load.Kind == model.Read {
		operation = measure.Read
	}
	answers := load.Run(l.store, l.now, l.now+length)
	built := builders.Client(target, 0).Later(l.now)
	counters := make([]measure.Counter, length/time.Second)
	for _, answer := range answers {
		if second := int((answer.At - l.now) / time.Second); second >= 0 && second < len(counters) {
			counters[second].Operations++
			counters[second].Bytes += uint64(answer.Bytes)
		}
	}
	warm := int(step.WarmUp / time.Second)
	total := uint64(0)
	for second, counter := range counters {
		if second < warm {
			built.WarmUp(1, operation, counter)
			continue
		}
		// In a closed loop that is always full, the mean latency follows from Little's law.
		latency := time.Duration(float64(load.Depth) / max(float64(counter.Operations), 1) * 1e9)
		if l.ceiling > 0 && float64(counter.Operations) > 0.98*l.ceiling {
			latency = l.latency
		}
		built.Sample(time.Second, operation, counter, latency)
		total += counter.Operations
	}
	if l.busy != nil {
		measured := length - step.WarmUp
		used := l.busy(float64(total) / measured.Seconds())
		built.CPU(time.Duration(used*float64(measured)), measured, 1000)
	}
	return built.Obj()
}

// phase returns the result of a phase on the only target.
func (l *lab) phase(name string) *v1alpha1.TargetResult {
	l.t.Helper()
	for i := range l.run.Status.Phases {
		if l.run.Status.Phases[i].Name == name {
			return &l.run.Status.Phases[i].Targets[0]
		}
	}
	l.t.Fatalf("there is no phase %s", name)
	return nil
}
