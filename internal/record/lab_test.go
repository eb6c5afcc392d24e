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

// lab carries a run out on a simulated store: what clients report is made of the store's answers, and recorded as the
// operator and a local run do.
type lab struct {
	t     *testing.T
	run   *v1alpha1.BenchmarkRun
	plan  plan.Plan
	store *model.Model
	load  model.Load
	// now is the time of the store, from the start of the run.
	now time.Duration
	// busy is the share of the CPU that the client used; nil where that does not matter.
	busy func(operationsPerSecond float64) float64
	// latency that the client reports in place of the store's while it is at its own ceiling, in operations a second:
	// then requests wait before they are sent.
	latency time.Duration
	ceiling float64
}

// newLab freezes a benchmark with one target, on which nothing was done for some time, and records its storage.
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

// at is the run's time of a time of the store.
func (l *lab) at(now time.Duration) time.Time { return builders.Start.Add(now) }

// all carries out every step.
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
	// What is under way at the end comes back before anything else begins.
	for range 60 {
		if _, under := l.store.Load(); under == 0 {
			break
		}
		l.now += time.Second
		l.store.Advance(l.now)
	}
}

// client is what the only client of a step reports.
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
		// In a closed loop that is always full the mean latency is exactly what Little's law says.
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

// phase is the result of a phase on the only target.
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
