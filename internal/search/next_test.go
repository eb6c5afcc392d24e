package search_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/search"
	"github.com/storagebench/storagebench/test/golden"
)

func spec(percentile string, least *int64, most int64) *v1alpha1.SearchPhase {
	return &v1alpha1.SearchPhase{
		Objective:    v1alpha1.SearchObjective{Latency: v1alpha1.SearchLatency{Percentile: percentile, Max: "5ms"}},
		Rate:         v1alpha1.SearchRate{Min: least, Max: most},
		Regime:       v1alpha1.RegimeAny,
		StepDuration: "60s",
	}
}

func ask(t *testing.T, phase *v1alpha1.SearchPhase, clients int) search.Question {
	t.Helper()
	question, problems := search.Of(field.NewPath("search"), phase, clients)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return question
}

// store returns, for an offered rate, the operations completed per second and the share of them above the latency
// bound.
type store func(rate float64, step int) (achieved, slower float64)

// queue returns a store that completes all offered operations up to its capacity. 1 % of them are slow at the limit,
// and ten times as many at four thirds of it.
func queue(limit, capacity float64) store {
	return func(rate float64, _ int) (float64, float64) {
		return min(rate, capacity), min(1, 0.01*math.Pow(10, (rate/limit-1)*3))
	}
}

// noisy varies the share of slow operations from step to step.
func noisy(of store, by float64) store {
	return func(rate float64, step int) (float64, float64) {
		achieved, slower := of(rate, step)
		return achieved, slower * (1 + by*math.Sin(float64(step*step)))
	}
}

// tell runs a search and returns its steps as text. Each decision depends only on the earlier steps, as in a run.
func tell(t *testing.T, question search.Question, s store) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "from %d to %d by %d, at most %d steps and %d to confirm\n", question.Min, question.Max, question.Unit, question.Trials, question.Confirming)
	var trials []search.Trial
	for {
		decision := question.Next(trials)
		if again := question.Next(trials); again != decision {
			t.Fatalf("the same facts gave %+v and %+v", decision, again)
		}
		if decision.Stage == search.Done {
			fmt.Fprintf(&b, "done: %d, missed first at %d\n", decision.Rate, decision.Missed)
			break
		}
		if decision.Rate%question.Unit != 0 || decision.Rate < question.Min || decision.Rate > question.Max {
			t.Fatalf("%+v is out of bounds", decision)
		}
		trial := search.Trial{Offered: decision.Rate, Confirms: decision.Stage == search.Confirming, Known: true, Seconds: 60}
		trial.Achieved, trial.Slower = s(float64(decision.Rate), len(trials))
		says := "missed"
		switch {
		case question.Met(&trial):
			says = "met"
		case trial.Overloaded():
			says = "overloaded"
		}
		trials = append(trials, trial)
		fmt.Fprintf(&b, "%-7s %6d/s  %.3f %% slower  %s\n", map[bool]string{false: "explore", true: "confirm"}[trial.Confirms], trial.Offered, 100*trial.Slower, says)
	}
	explored := 0
	for i := range trials {
		if !trials[i].Confirms {
			explored++
		}
	}
	if explored > question.Trials || len(trials)-explored > question.Confirming {
		t.Errorf("%d steps and %d to confirm are more than were planned", explored, len(trials)-explored)
	}
	return b.String()
}

func TestSequences(t *testing.T) {
	least := int64(100)
	for name, test := range map[string]struct {
		question search.Question
		store    store
	}{
		"queue":          {ask(t, spec("99", &least, 20_000), 1), queue(3000, 5000)},
		"four-clients":   {ask(t, spec("99", &least, 20_000), 4), queue(3001, 5000)},
		"noisy":          {ask(t, spec("99", &least, 20_000), 1), noisy(queue(3000, 5000), 0.1)},
		"very-noisy":     {ask(t, spec("99", &least, 20_000), 1), noisy(queue(3000, 5000), 0.9)},
		"overload-first": {ask(t, spec("99", &least, 20_000), 1), queue(9000, 2500)},
		"max-meets-it":   {ask(t, spec("99", &least, 1000), 1), queue(3000, 5000)},
		"min-misses-it":  {ask(t, spec("99", &least, 1000), 1), queue(50, 60)},
		"one-rate":       {ask(t, spec("99", new(int64(1000)), 1000), 1), queue(3000, 5000)},
		"up-to-baseline": {ask(t, spec("99", &least, 20_000), 1).Below(640.5), queue(3000, 5000)},
		"tail": {ask(t, spec("99.9", nil, 20_000), 1), func(rate float64, step int) (float64, float64) {
			achieved, slower := queue(3000, 5000)(rate, step)
			return achieved, slower / 10
		}},
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, name, tell(t, test.question, test.store)) })
	}
}

// TestShareAtTheBound checks that a step meets the objective if exactly the share of operations that the percentile
// allows is slower than the bound.
func TestShareAtTheBound(t *testing.T) {
	for percentile, ppm := range map[string]float64{
		"99.9999": 1, "99.9997": 3, "99.998": 20, "99.9": 1000, "99": 10_000, "95": 50_000} {
		question := ask(t, spec(percentile, nil, 1_000_000), 1)
		step := search.Trial{Offered: question.Max, Achieved: float64(question.Max), Slower: ppm / 1e6,
			Known: true, Seconds: 60}
		trials := []search.Trial{step}
		for range search.Confirmations {
			step.Confirms = true
			trials = append(trials, step)
		}
		if got := question.Next(trials); got.Stage != search.Done || got.Rate != question.Max {
			t.Errorf("percentile %s: %+v", percentile, got)
		}
	}
}

// TestAnyStore checks that a search stays within its bounds and its planned steps, even if steps report random figures.
func TestAnyStore(t *testing.T) {
	for seed := range 500 {
		random := func(step int) float64 { // from 0 to 1
			_, part := math.Modf(math.Abs(math.Sin(float64(seed*7919+step*104729))) * 1e4)
			return part
		}
		least := int64(100 + seed)
		question := ask(t, spec("99", &least, least*int64(2+seed%300)), 1+seed%7)
		tell(t, question, func(rate float64, step int) (float64, float64) {
			return rate * (0.8 + 0.4*random(step)), 0.02 * random(step+1000)
		})
	}
}

func TestRefusals(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.SearchPhase){
		"search.objective.latency.percentile": func(p *v1alpha1.SearchPhase) { p.Objective.Latency.Percentile = "100" },
		"search.objective.latency.max":        func(p *v1alpha1.SearchPhase) { p.Objective.Latency.Max = "5" },
		"search.stepDuration":                 func(p *v1alpha1.SearchPhase) { p.StepDuration = "10ms" },
		"search.precisionPercent":             func(p *v1alpha1.SearchPhase) { p.PrecisionPercent = new(int32(0)) },
		"search.rate.min":                     func(p *v1alpha1.SearchPhase) { p.Rate.Min = new(int64(1)) },
		"search.rate.max":                     func(p *v1alpha1.SearchPhase) { p.Rate.Max = 5 },
	} {
		phase := spec("99", nil, 1000)
		change(phase)
		if _, problems := search.Of(field.NewPath("search"), phase, 2); len(problems) != 1 || problems[0].Field != want {
			t.Errorf("%s: %v", want, problems)
		}
	}
}

// TestOverloadedByChance checks that a step is not overloaded if, by chance, slightly fewer operations arrived than
// offered.
func TestOverloadedByChance(t *testing.T) {
	for _, test := range []struct {
		offered  int64
		achieved float64
		want     bool
	}{
		{1000, 1000, false}, {1000, 985, false}, {1000, 970, true}, // the standard deviation of 60,000 arrivals is 0.4 %
		{20, 19, false}, {20, 17, true}, {100_000, 99_500, false}, {100_000, 98_000, true},
	} {
		trial := search.Trial{Offered: test.offered, Achieved: test.achieved, Seconds: 60}
		if got := trial.Overloaded(); got != test.want {
			t.Errorf("%d offered, %g achieved: %t", test.offered, test.achieved, got)
		}
	}
}
