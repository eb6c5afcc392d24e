package benchmarkrun

import (
	"maps"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/metrics"
	"github.com/storagebench/storagebench/internal/plan"
)

// Live provides the state of the live runs that this process conducts. It is empty until it has been passed to Setup as
// Options.Live.
type Live struct {
	sessions atomic.Pointer[sessions]
}

// Runs returns the current state of the live runs.
func (l *Live) Runs() []metrics.LiveRun {
	all := l.sessions.Load()
	if all == nil {
		return nil
	}
	all.mu.Lock()
	found := maps.Clone(all.live)
	all.mu.Unlock()
	runs := make([]metrics.LiveRun, 0, len(found))
	for key, one := range found {
		runs = append(runs, one.look(key))
	}
	return runs
}

// look returns the current state of the run. It may run concurrently with a reconcile, because it only queries the
// conductor and reads immutable or atomic fields of the session.
func (s *session) look(key client.ObjectKey) metrics.LiveRun {
	run := metrics.LiveRun{Namespace: key.Namespace, Benchmark: s.benchmark, Name: key.Name, Clients: map[string]map[string]int{}}
	connecting := false
	for target, counts := range s.conductor.Connections() {
		run.Clients[target] = map[string]int{}
		for connection, n := range counts {
			run.Clients[target][string(connection)] = n
		}
		connecting = connecting || counts[decide.Connecting] > 0
	}
	// After a restart, the agents' logs are read again. Until that is done, leave out the totals, because incomplete
	// totals would look like a counter reset followed by a sudden increase.
	if connecting && !s.counted.Load() {
		return run
	}
	s.counted.Store(true)
	run.Samples = map[string]metrics.SampleCount{}
	for target, count := range s.conductor.Samples() {
		run.Samples[target] = metrics.SampleCount{Taken: count.Taken, Lost: count.Lost}
	}
	run.Loads = map[metrics.Load]measure.Counter{}
	for of, counter := range s.conductor.Totals() {
		load := metrics.Load{Phase: s.phases[of.Step], Target: of.Target, Operation: of.Operation}
		sum := run.Loads[load]
		sum.Bytes += counter.Bytes
		sum.Operations += counter.Operations
		run.Loads[load] = sum
	}
	run.Latencies = s.latencies()
	return run
}

// latencies returns the latencies of the step under load, or of the last step that was under load.
func (s *session) latencies() map[metrics.Load]metrics.Latency {
	live := s.loading.Load()
	if live == nil {
		return nil
	}
	all := map[metrics.Load]metrics.Latency{}
	for target, reported := range s.conductor.Distributions() {
		if reported.Attempt != *live {
			continue
		}
		for _, operation := range measure.Operations {
			if reported.Whole[operation].Count() > 0 {
				all[metrics.Load{Phase: s.phases[live.Step], Target: target, Operation: operation}] = metrics.Latency{
					Whole: reported.Whole[operation], Newest: reported.Newest[operation]}
			}
		}
	}
	return all
}

// follows records the step under load, for Live. The step remains recorded until the next load begins, so that
// monitoring systems, which read Live at intervals, also get the figures of the last seconds of a load.
func (s *session) follows(run *v1alpha1.BenchmarkRun) {
	var live *decide.Attempt
	for _, fact := range run.Status.Steps {
		if fact.State != v1alpha1.StepSkipped && s.plan.Step(fact.ID).Purpose != plan.Idle {
			live = &decide.Attempt{Step: fact.ID, Number: int(fact.Attempt)}
		}
	}
	s.loading.Store(live)
}

// countSince returns the time from which Live counts the bytes and operations of clients. If it is zero, Live counts
// from the start of the run. If clients were lost before this process took over, their counts are no longer available,
// so counting starts now. Monitoring systems then see a counter reset, as after any other restart, instead of a value
// that is slightly too low.
func countSince(run *v1alpha1.BenchmarkRun, now time.Time) time.Time {
	if len(run.Status.LostClients) == 0 {
		return time.Time{}
	}
	return now
}
