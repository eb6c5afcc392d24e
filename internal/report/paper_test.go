package report_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/builders"
)

// paper is a simulated run of a benchmark. clients returns the clients' reports on a step, or nil to end the run before
// that step. more modifies the run at its end.
type paper struct {
	benchmark *builders.BenchmarkBuilder
	clients   func(plan.Step) []result.Client
	more      []func(*v1alpha1.BenchmarkRun)
	// prometheus answers the queries of the observations.
	prometheus func(*observation.Query) []observation.Series
}

func play(benchmark *builders.BenchmarkBuilder, clients func(plan.Step) []result.Client, more ...func(*v1alpha1.BenchmarkRun)) paper {
	return paper{benchmark: benchmark, clients: clients, more: more}
}

func (p paper) document(t *testing.T) report.Document {
	t.Helper()
	spec := p.benchmark.Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	run := record.New(record.Identity{Name: "usual-3f2a91", Namespace: "default", UID: "0-1",
		Benchmark: v1alpha1.BenchmarkReference{Name: "usual", UID: "0-0"}, Hash: "abc", Seed: 7}, spec, planned)
	record.Begin(run, builders.Start)
	var found []v1alpha1.Environment
	for _, target := range spec.Targets {
		found = append(found, v1alpha1.Environment{Target: target.Name, Clients: spec.Clients.Count, Engine: "fio", ToolVersion: "fio-3.33",
			Kernel: "6.18.5", Architecture: "amd64", CPUMilli: 2000, MemoryBytes: 8 << 30,
			Volumes: []v1alpha1.MountedVolume{{Name: "data", FileSystem: "ext4", Source: "/dev/sda1", FreeBytes: 120 << 30}}})
	}
	record.Environments(run, found)
	at := builders.Start
	over := &series.Log{}
	for _, step := range planned.Steps {
		at = at.Add(300 * time.Millisecond)
		var reported []result.Client
		if step.Purpose != plan.Idle {
			if reported = p.clients(step); reported == nil {
				break
			}
		}
		at = recordStep(run, step, reported, at)
		over.Add(record.Series(run, step, decide.Attempt{Step: step.ID, Number: 1}, reported, minutesOf(reported)))
	}
	if p.prometheus != nil {
		const interval = 15 * time.Second
		var answers []observation.Answer
		for _, q := range observation.Queries(run, interval) {
			answers = append(answers, observation.Answer{Query: q, Series: p.prometheus(&q)})
		}
		outcome := observation.Evaluate(run, answers, interval)
		record.Observations(run, &outcome, at)
		over.Observe(outcome.Over)
	}
	for _, change := range p.more {
		change(run)
	}
	return report.NewDocument(run, "v0.1.0").With(over)
}

// minutesOf returns latencies in the form in which agents report them. All operations of the first client count in a
// single minute.
func minutesOf(reported []result.Client) map[string][]series.Minute {
	all := map[string][]series.Minute{}
	for i := range reported {
		c := &reported[i]
		for operation := range c.Operations {
			histogram := &c.Operations[operation].Latency.Histogram
			if c.Index == 0 && histogram.Count() > 0 {
				all[c.Target] = append(all[c.Target], series.MinuteOf(c.IOStart.UnixNano(), c.IOEnd.UnixNano(), measure.Operation(operation), histogram))
			}
		}
	}
	return all
}

// recordStep records a step that starts at the given time, and returns when it ended. The I/O of the clients starts a
// quarter of a second later, as with fio. A conclusion is recorded a tenth of a second before the I/O ends.
func recordStep(run *v1alpha1.BenchmarkRun, step plan.Step, reported []result.Client, at time.Time) time.Time {
	attempt := decide.Attempt{Step: step.ID, Number: 1}
	end := at.Add(step.Duration)
	deadline := at.Add(time.Minute)
	if step.Purpose == plan.Idle {
		if step.Duration == 0 {
			end = at.Add(step.Limit)
		}
		deadline = end
	}
	record.Intent(run, step, decide.Action{Attempt: attempt, Start: at, Deadline: deadline})
	for i := range reported {
		later(&reported[i], at.Sub(builders.Start)+250*time.Millisecond)
		if reported[i].IOEnd.After(end) {
			end = reported[i].IOEnd
		}
		if reported[i].Stopped && reported[i].StopMessage == enough {
			record.Conclude(run, decide.Action{Attempt: attempt, Reason: enough}, reported[i].IOEnd.Add(-100*time.Millisecond))
			end = reported[i].IOEnd
		}
	}
	record.Result(run, step, attempt, reported, end)
	return end
}

// enough is the reason for which a drain ends early.
const enough = "the baseline is measured: 32.00 MB/s within 2 %"

// later shifts all times in the report of a client.
func later(c *result.Client, by time.Duration) {
	builders.ShiftSamples(c, by)
	if c.Job != nil {
		for i := range c.Job.Repetitions {
			c.Job.Repetitions[i].Ended = c.Job.Repetitions[i].Ended.Add(by)
		}
	}
	for _, instant := range []*time.Time{&c.Released, &c.IOStart, &c.IOEnd} {
		if !instant.IsZero() {
			*instant = instant.Add(by)
		}
	}
}
