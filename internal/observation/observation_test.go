package observation_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const interval = 15 * time.Second

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func micro(seconds float64) *metav1.MicroTime { return &metav1.MicroTime{Time: at(seconds)} }

// run returns a run of a drain with 15 s of warm-up and two minutes of measured time, a pause, and a step that has not
// ended.
func run(observations ...v1alpha1.Observation) *v1alpha1.BenchmarkRun {
	made := &v1alpha1.BenchmarkRun{}
	made.Spec.Run.Observations = observations
	made.Spec.Steps = []v1alpha1.ResolvedStep{
		{ID: "drain-1", Phase: "drain", Kind: v1alpha1.PhaseBurstDrain, Purpose: v1alpha1.StepDrain, Targets: []string{"store"}},
		{ID: "pause-1", Phase: "pause", Kind: v1alpha1.PhaseCooldown, Purpose: v1alpha1.StepIdle, Targets: []string{"store"}},
		{ID: "later-1", Phase: "later", Kind: v1alpha1.PhaseSteady, Purpose: v1alpha1.StepMeasure, Targets: []string{"store"}},
	}
	made.Status.Steps = []v1alpha1.StepStatus{
		{ID: "drain-1", Attempt: 1, StartTime: micro(-99), EndTime: micro(-98)},
		{ID: "drain-1", Attempt: 2, StartTime: micro(-1), FirstIOTime: micro(0), MeasuredTime: micro(15), LastIOTime: micro(135), EndTime: micro(136)},
		{ID: "pause-1", Attempt: 1, StartTime: micro(140), EndTime: micro(200)},
		{ID: "later-1", Attempt: 1, StartTime: micro(201), FirstIOTime: micro(202)},
	}
	return made
}

func TestQueries(t *testing.T) {
	var got []string
	for _, q := range observation.Queries(run(v1alpha1.Observation{Name: "a", Query: "up"}, v1alpha1.Observation{Name: "b", Query: "down", Phases: []string{"pause"}}), interval) {
		got = append(got, fmt.Sprintf("%d %s %s: %s %s %s, %d of %s", q.Observation, q.Expression, q.Step, q.Start.Format("04:05"), q.Measured.Format("04:05"),
			q.End.Format("04:05"), q.Evaluations(), q.Resolution))
	}
	want := []string{
		"0 up drain-1: 00:00 00:15 02:15, 10 of 15s",
		"0 up pause-1: 02:20 02:20 03:20, 5 of 15s",
		"1 down pause-1: 02:20 02:20 03:20, 5 of 15s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if end := observation.End(run(v1alpha1.Observation{Name: "a"})); !end.Equal(at(200)) {
		t.Errorf("the end is %s", end)
	}
	if end := observation.End(run()); !end.IsZero() {
		t.Errorf("without observations the end is %s", end)
	}
}

// TestQueryOfARepeatedLayout checks that the query covers the attempt that wrote the data. A layout that is repeated
// after the loss of a client, and finds its data, does no I/O.
func TestQueryOfARepeatedLayout(t *testing.T) {
	made := run(v1alpha1.Observation{Name: "a", Query: "up"})
	wrote := &made.Status.Steps[1]
	wrote.State, wrote.IO = v1alpha1.StepSucceeded, []v1alpha1.StepIO{{Target: "store", Bytes: 1e9}}
	made.Status.Steps = append(made.Status.Steps, v1alpha1.StepStatus{ID: "drain-1", Attempt: 3,
		State: v1alpha1.StepSucceeded, StartTime: micro(300), EndTime: micro(301)})
	got := observation.Queries(made, interval)[0]
	if got.Step != "drain-1" || !got.Start.Equal(at(0)) || !got.End.Equal(at(135)) {
		t.Errorf("the first query is %+v", got)
	}
}

// TestResolution checks that the evaluations of a query cover its time. They are at most an interval apart, unless
// Prometheus would refuse that many.
func TestResolution(t *testing.T) {
	for _, length := range []float64{0.0004, 0.001, 1, 14.9994, 15, 15.0006, 61.7, 3600, 7 * 24 * 3600} {
		made := run(v1alpha1.Observation{Name: "a"})
		made.Status.Steps[2].EndTime = micro(140 + length)
		for _, q := range observation.Queries(made, interval)[1:] {
			n := q.Evaluations()
			last := q.Start.Add(time.Duration(n-1) * q.Resolution)
			if n > 11_000 || q.Resolution%time.Millisecond != 0 || q.Resolution > interval && n < 10_000 || last.After(q.End) || last.Before(q.End.Add(-max(q.Resolution, 11*time.Second))) {
				t.Errorf("%g s: %d evaluations of %s, the last at %s of %s", length, n, q.Resolution, last, q.End)
			}
		}
	}
}

// points returns values every 15 s, starting with the first I/O of the drain. NaN omits a value.
func points(values ...float64) []observation.Point {
	var all []observation.Point
	for i, value := range values {
		if !math.IsNaN(value) {
			all = append(all, observation.Point{At: at(float64(15 * i)), Value: value})
		}
	}
	return all
}

var none = math.NaN()

func TestEvaluate(t *testing.T) {
	level := v1alpha1.Observation{Name: "level", Query: "up", Phases: []string{"drain"}}
	credits := level
	credits.CreditsOf = "store"
	one := func(s observation.Series) []observation.Series { return []observation.Series{s} }
	figures := func(text string) []string { return []string{text} }
	// A stripe of nine volumes. The last one by label is not kept, but it is the emptiest, and so its level counts.
	var stripe []observation.Series
	var kept []string
	for i := range 9 {
		stripe = append(stripe, observation.Series{Labels: fmt.Sprint("volume ", i), Points: points(90, 1, 1, 1, 1, 1, 1, 1, 1, 1)})
		if i < 8 {
			kept = append(kept, fmt.Sprint("volume ", i, ": 9 points, first 1, last 1, min 1, mean 1, max 1"))
		}
	}
	stripe[8].Points[0].Value = 10
	for name, test := range map[string]struct {
		observation v1alpha1.Observation
		series      []observation.Series
		problem     string
		refused     bool
		want        []string
		warnings    []string
		complete    bool
		credit      int32
	}{
		"a gauge that falls by 10 each time": {observation: level, complete: true,
			series: one(observation.Series{Labels: `{a="b"}`, Points: points(100, 90, 80, 70, 60, 50, 40, 30, 20, 10)}),
			want:   figures(`{a="b"}: 9 points, first 90, last 10, min 10, mean 50, max 90`)},
		"the warm-up shows the level at the start only": {observation: credits, complete: true, credit: 98,
			series: one(observation.Series{Points: points(98.4, 5, 5, 5, 5, 5, 5, 5, 5, 5)}),
			want:   figures(`: 9 points, first 5, last 5, min 5, mean 5, max 5`)},
		"the emptiest volume of a stripe": {observation: credits, complete: true, credit: 40,
			series: []observation.Series{{Labels: "a", Points: points(90, 1, 1, 1, 1, 1, 1, 1, 1, 1)}, {Labels: "b", Points: points(40, 1, 1, 1, 1, 1, 1, 1, 1, 1)}},
			want:   []string{"a: 9 points, first 1, last 1, min 1, mean 1, max 1", "b: 9 points, first 1, last 1, min 1, mean 1, max 1"}},
		"the emptiest volume of a large stripe": {observation: credits, complete: true, credit: 10, series: stripe, want: kept,
			warnings: []string{"ObservationIncomplete Info: observation level: only 8 of 9 series of step drain-1 are kept: aggregate with sum or topk"}},
		"missing at first, in between, and not a number": {observation: level, complete: true,
			series:   one(observation.Series{Points: append(points(none, none, 1, none, 3, 5), observation.Point{At: at(90), Value: math.Inf(1)}, observation.Point{At: at(105), Value: none}, observation.Point{At: at(120), Value: 7}, observation.Point{At: at(135), Value: 9})}),
			want:     figures(": 5 points, first 1, last 9, min 1, mean 5, max 9, missing 60 s"),
			warnings: []string{"ObservationIncomplete Info: observation level: the series has no value for 1m0s of step drain-1"}},
		"gone before the end": {observation: level,
			series:   one(observation.Series{Labels: `{pod="x"}`, Points: points(1, 1, 1, 1, 1, 1, 1)}),
			want:     figures(`{pod="x"}: 6 points, first 1, last 1, min 1, mean 1, max 1, missing 45 s`),
			warnings: []string{`ObservationIncomplete Info: observation level: {pod="x"} has no value for 45s of step drain-1`}},
		"late": {observation: level,
			series:   one(observation.Series{Name: "up", Labels: "up", Newest: at(95), Points: points(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}),
			want:     figures("up: 9 points, first 1, last 1, min 1, mean 1, max 1"),
			warnings: []string{"ObservationIncomplete Info: observation level: the newest sample was 40s old at the end of step drain-1"}},
		"in time": {observation: level, complete: true,
			series: one(observation.Series{Name: "up", Labels: "up", Newest: at(121), Points: points(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}),
			want:   figures("up: 9 points, first 1, last 1, min 1, mean 1, max 1")},
		"a counter that began again": {observation: level, complete: true,
			series:   one(observation.Series{Name: "x_total", Labels: "x_total", Points: points(1, 2, 3, 4, 1, 2, 3, 1, 2, 3)}),
			want:     figures("x_total: 9 points, first 2, last 3, min 1, mean 2.333333333, max 4, 2 resets"),
			warnings: []string{"ObservationIncomplete Info: observation level: x_total was reset in step drain-1: use rate or increase, which account for resets"}},
		"a gauge that falls": {observation: level, complete: true,
			series: one(observation.Series{Name: "x", Labels: "x", Points: points(9, 8, 7, 6, 5, 4, 3, 2, 1, 0)}),
			want:   figures("x: 9 points, first 8, last 0, min 0, mean 4, max 8")},
		"nothing at all": {observation: level,
			warnings: []string{"ObservationFailed Warning: observation level: no value in any step"}},
		"refused": {observation: level, problem: "Prometheus rejected the query: 1:3: parse error", refused: true, complete: true,
			warnings: []string{"ObservationFailed Warning: observation level: Prometheus rejected the query: 1:3: parse error"}},
		"out of reach": {observation: level, problem: "cannot query Prometheus: connection refused",
			warnings: []string{"ObservationFailed Warning: observation level: cannot query Prometheus: connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			made := run(test.observation)
			queries := observation.Queries(made, interval)
			got := observation.Evaluate(made, []observation.Answer{{Query: queries[0], Series: test.series, Problem: test.problem, Refused: test.refused}}, interval)
			var texts, warnings []string
			for _, s := range got.Series {
				text := fmt.Sprintf("%s: %d points, first %s, last %s, min %s, mean %s, max %s", s.Labels, s.Points, s.First, s.Last, s.Min, s.Mean, s.Max)
				if s.MissingSeconds > 0 {
					text += fmt.Sprintf(", missing %d s", s.MissingSeconds)
				}
				if s.Resets > 0 {
					text += fmt.Sprintf(", %d resets", s.Resets)
				}
				texts = append(texts, text)
			}
			for _, w := range got.Warnings {
				warnings = append(warnings, fmt.Sprintf("%s %s: %s", w.Type, w.Severity, w.Message))
			}
			if diff := cmp.Diff(test.want, texts); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if got.Complete != test.complete {
				t.Errorf("complete is %t", got.Complete)
			}
			if credit := test.credit; credit > 0 && (len(got.Credits) != 1 || got.Credits[0].Percent != credit) || credit == 0 && len(got.Credits) > 0 {
				t.Errorf("the credits are %+v, want %d %%", got.Credits, credit)
			}
		})
	}
}

// TestMeanOfAPhase checks that the mean of a phase weights its steps by their length, because even the shortest step
// has two values.
func TestMeanOfAPhase(t *testing.T) {
	made := &v1alpha1.BenchmarkRun{}
	made.Status.Observations = &v1alpha1.Observations{}
	for _, step := range []struct {
		id, mean   string
		start, end float64
		points     int32
	}{{"create", "10", 0, 600, 11}, {"stat", "90", 610, 613, 2}, {"delete", "90", 620, 624, 2}} {
		made.Spec.Steps = append(made.Spec.Steps, v1alpha1.ResolvedStep{ID: step.id, Phase: "files"})
		made.Status.Steps = append(made.Status.Steps, v1alpha1.StepStatus{ID: step.id, Attempt: 1,
			FirstIOTime: micro(step.start), LastIOTime: micro(step.end), EndTime: micro(step.end)})
		observed := v1alpha1.ObservedSeries{Observation: "cpu", Step: step.id, Points: step.points, Mean: step.mean}
		made.Status.Observations.Series = append(made.Status.Observations.Series, observed)
	}
	got := observation.InPhase(&made.Spec, &made.Status, "cpu", "files")
	if want := (600*10 + 7*90) / 607.0; len(got) != 1 || math.Abs(got[0].Mean-want) > 1e-9 {
		t.Errorf("got %+v, want a mean of %g", got, want)
	}
}

// TestBounds checks that the result stays small, however many series and points there are.
func TestBounds(t *testing.T) {
	made := run()
	made.Spec.Steps, made.Status.Steps = nil, nil
	for i := range 40 {
		id := fmt.Sprintf("step-%d", i)
		made.Spec.Steps = append(made.Spec.Steps, v1alpha1.ResolvedStep{ID: id, Phase: "p", Purpose: v1alpha1.StepMeasure})
		made.Status.Steps = append(made.Status.Steps, v1alpha1.StepStatus{ID: id, Attempt: 1, FirstIOTime: micro(0), LastIOTime: micro(20_000), EndTime: micro(20_001)})
	}
	made.Spec.Run.Observations = []v1alpha1.Observation{{Name: "many", Query: "up"}}
	var answers []observation.Answer
	for _, q := range observation.Queries(made, interval) {
		answer := observation.Answer{Query: q}
		for i := range 35 {
			s := observation.Series{Labels: fmt.Sprintf(`{i="%02d",long=%q}`, i, strings.Repeat("x", 1000))}
			for j := range q.Evaluations() {
				s.Points = append(s.Points, observation.Point{At: q.Start.Add(time.Duration(j) * q.Resolution), Value: 1})
			}
			answer.Series = append(answer.Series, s)
		}
		answers = append(answers, answer)
	}
	got := observation.Evaluate(made, answers, interval)
	if len(got.Series) != 256 || got.Omitted != 40*8-256 || len(got.Over) != 40*8 {
		t.Errorf("%d entries, %d omitted, %d over time", len(got.Series), got.Omitted, len(got.Over))
	}
	for _, o := range got.Over {
		if len(o.Points) > 240 || len(o.Labels) > 260 {
			t.Fatalf("%d points, labels of %d bytes", len(o.Points), len(o.Labels))
		}
	}
	if len(got.Warnings) != 1 || got.Warnings[0].Message != "observation many: only 8 of 35 series of step step-0 are kept: aggregate with sum or topk, and in 39 more steps" {
		t.Errorf("warnings: %+v", got.Warnings)
	}
}
