package observation_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

// FuzzEvaluate checks that, whatever Prometheus returns, the API server admits the status of the run, and the values
// can be stored and read again. Each value is 16 bytes: nanoseconds after the start of the step, and the number.
func FuzzEvaluate(f *testing.F) {
	values := func(all ...float64) []byte {
		var encoded []byte
		for i, value := range all {
			encoded = binary.LittleEndian.AppendUint64(encoded, uint64(i)*uint64(interval))
			encoded = binary.LittleEndian.AppendUint64(encoded, math.Float64bits(value))
		}
		return encoded
	}
	f.Add("up", `{a="b"}`, "", int64(0), values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
	f.Add("x_total", "x_total", "", int64(95e9), values(5, 4, 3, 2, 1, 5, 4, 3, 2, 1))
	f.Add("", "", "\x1b[2J", int64(-1), values(math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64))
	f.Add("_sum", "\xff", "", int64(math.MinInt64), values(1e299, 1e299, 1e299, 1e299))
	f.Fuzz(func(t *testing.T, name, labels, problem string, newest int64, encoded []byte) {
		if len(encoded) > 1<<16 {
			return
		}
		one := observation.Series{Name: name, Labels: labels}
		if newest >= 0 {
			one.Newest = start.Add(time.Duration(newest))
		}
		for ; len(encoded) >= 16; encoded = encoded[16:] {
			one.Points = append(one.Points, observation.Point{At: start.Add(time.Duration(binary.LittleEndian.Uint64(encoded))),
				Value: math.Float64frombits(binary.LittleEndian.Uint64(encoded[8:]))})
		}
		made := recorded(t)
		query := observation.Queries(made, interval)[0]
		outcome := observation.Evaluate(made, []observation.Answer{{Query: query, Problem: problem, Series: []observation.Series{one, one}}}, interval)
		record.Observations(made, &outcome, start.Add(time.Hour))
		invariants.CheckObject(t, made)
		log, err := (&series.Log{Observed: outcome.Over}).Encode(series.MaxBytes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := series.Decode(log); err != nil {
			t.Errorf("the values over time cannot be read: %v", err)
		}
	})
}

// recorded returns a run whose drain is complete.
func recorded(t *testing.T) *v1alpha1.BenchmarkRun {
	t.Helper()
	spec := builders.Benchmark("nightly").Target("store").Prepare("layout").BurstDrain("drain", "10s", "200s").Mutate(func(spec *v1alpha1.RunSpec) {
		spec.Observations = []v1alpha1.Observation{{Name: "level", Query: "up", CreditsOf: "store", Phases: []string{"drain"}}}
	}).Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	made := record.New(record.Identity{Name: "run", Namespace: "default", UID: "run-1", Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: "nightly", UID: "benchmark-1"}, Hash: strings.Repeat("a", 64)}, spec, planned)
	record.Begin(made, start)
	drain := run().Status.Steps[1]
	drain.ID, drain.State = planned.Steps[len(planned.Steps)-1].ID, v1alpha1.StepSucceeded
	made.Status.Steps = []v1alpha1.StepStatus{drain}
	return made
}
