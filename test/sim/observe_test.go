package sim_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/sim"
)

// answering simulates a Prometheus. It takes a second to answer, and has a value only some time after the instant of
// the value. The values decrease by one per second.
type answering struct {
	late   time.Duration // the time until a value is available
	silent bool

	mu      sync.Mutex
	asked   int
	answers []observation.Answer
	ended   bool
}

func (a *answering) Interval() time.Duration { return 15 * time.Second }

func (a *answering) Ask(queries []observation.Query) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = false
	a.asked++
	if a.silent {
		return
	}
	number := a.asked
	go func() {
		time.Sleep(time.Second)
		a.mu.Lock()
		defer a.mu.Unlock()
		if number != a.asked {
			return
		}
		a.answers, a.ended = nil, true
		for _, q := range queries {
			answer := observation.Answer{Query: q}
			one := observation.Series{Labels: `{volume="v"}`}
			for i := range q.Evaluations() {
				if at := q.Start.Add(time.Duration(i) * q.Resolution); time.Now().After(at.Add(a.late)) {
					one.Points = append(one.Points, observation.Point{At: at, Value: 90 - at.Sub(q.Start).Seconds()})
				}
			}
			if len(one.Points) > 0 {
				answer.Series = append(answer.Series, one)
			}
			a.answers = append(a.answers, answer)
		}
	}()
}

func (a *answering) Answers() ([]observation.Answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers, a.ended
}

func observedBenchmark() *builders.BenchmarkBuilder {
	return builders.Benchmark("usual").Target("store").Clients(1).Prepare("layout").Steady("write", "1m").Mutate(func(run *v1alpha1.RunSpec) {
		run.Observations = []v1alpha1.Observation{{Name: "level", Query: "level", Phases: []string{"write"}}}
	})
}

// TestObservations runs with a Prometheus whose values arrive in time, late, too late, or never. The run must complete
// in each case, and report what is missing.
func TestObservations(t *testing.T) {
	for name, test := range map[string]struct {
		prometheus *answering
		points     int32 // minimum; 0 means no series
		within     time.Duration
		warning    string
	}{
		"in time":  {&answering{}, 5, 20 * time.Second, ""},
		"late":     {&answering{late: 40 * time.Second}, 5, 50 * time.Second, ""},
		"too late": {&answering{late: 100 * time.Second}, 2, 80 * time.Second, "ObservationIncomplete: observation level: {volume=\"v\"} has no value for "},
		"never":    {&answering{late: time.Hour}, 0, 80 * time.Second, "ObservationFailed: observation level: no value in any step"},
		"silent":   {&answering{silent: true}, 0, 110 * time.Second, "ObservationFailed: observations are not evaluated: Prometheus did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := world(t, observedBenchmark(), facts(), 4096)
				w.Observer = test.prometheus
				run := conduct(t, w)
				expectObserved(t, w, run, test.points, test.within, test.warning)
			})
		})
	}
}

func expectObserved(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun, points int32, within time.Duration, warning string) {
	t.Helper()
	if !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) || run.Status.Observations == nil || run.Status.Observations.EvaluatedTime == nil {
		t.Fatalf("the conditions are %+v, the observations %+v", run.Status.Conditions, run.Status.Observations)
	}
	took := run.Status.EndTime.Sub(run.Status.Steps[len(run.Status.Steps)-1].LastIOTime.Time)
	if took > within {
		t.Errorf("the run has ended %s after its last I/O, want at most %s", took, within)
	}
	all := run.Status.Observations.Series
	if points == 0 && len(all) > 0 || points > 0 && (len(all) != 1 || all[0].Points < points || len(w.Observed) == 0) {
		t.Errorf("the observations are %+v, over time %+v; want one with at least %d points", all, w.Observed, points)
	}
	var warnings []string
	for _, one := range run.Status.Warnings {
		warnings = append(warnings, string(one.Type)+": "+one.Message)
	}
	if warning == "" && len(warnings) > 0 || warning != "" && !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, warning) }) {
		t.Errorf("the warnings are %q, want %q", warnings, warning)
	}
}

// TestObservationsOutliveOperators kills the operator before and after it stores each of its decisions about
// observations. The next operator must query again and get the same result.
func TestObservationsOutliveOperators(t *testing.T) {
	for _, kind := range []decide.Kind{decide.Observe, decide.RecordObservations} {
		for _, stored := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				w := world(t, observedBenchmark(), facts(), 4096)
				w.Observer = &answering{}
				died := false
				once := func(action decide.Action) bool {
					now := action.Kind == kind && !died
					died = died || now
					return now
				}
				if stored {
					w.Stored = once
				} else {
					w.Before = once
				}
				run := conduct(t, w)
				if !died {
					t.Errorf("no operator has died at %s", kind)
				}
				expectObserved(t, w, run, 5, time.Minute, "")
			})
		}
	}
}

// TestObservationsWithoutPrometheus checks that without a Prometheus, the run completes with a warning.
func TestObservationsWithoutPrometheus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		run := conduct(t, world(t, observedBenchmark(), facts(), 4096))
		if !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) || run.Status.Observations != nil || len(run.Status.Warnings) != 1 ||
			run.Status.Warnings[0].Type != v1alpha1.WarningObservationFailed {
			t.Errorf("the conditions are %+v, the warnings %+v", run.Status.Conditions, run.Status.Warnings)
		}
	})
}
