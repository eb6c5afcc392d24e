package sim_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/search"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// server returns a store that serves one operation at a time, in constant time. With random arrivals, it is an M/D/1
// queue.
func server(perSecond float64) model.Config {
	return model.Config{Buckets: []model.Bucket{operations("server", perSecond, 0, 0)}}
}

func searched(reads int32) *builders.FioBuilder {
	return load(random, reads, "4Ki", 32).Mutate(func(p *v1alpha1.FioProfile) { p.FileSharing = v1alpha1.FilesShared })
}

// TestSearch searches the highest rate of a server with constant service time. The result must be at most the rate at
// which an M/D/1 queue reaches the bound of the latency percentile, and at least 95 % of it.
func TestSearch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		percentile string
		share      float64
		latency    v1alpha1.ShortDuration
		clients    int32
		reads      int32
	}{{"99", 0.99, "5ms", 1, 100}, {"95", 0.95, "4ms", 2, 50}} {
		t.Run(fmt.Sprintf("p%s-%s-%d", test.percentile, test.latency, test.clients), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				const perSecond = 1000
				b := builders.Benchmark("b").Target("store").Clients(test.clients).Workload(searched(test.reads)).Prepare("layout").
					Search("search", test.percentile, test.latency, 1600, "3m")
				w := world(t, b, server(perSecond), 1)
				run := conduct(t, w)
				complete(t, run)
				target := run.Status.Phases[1].Targets[0]
				t.Log("\n" + curve(&target))
				if target.Search == nil || !target.Search.Found || target.Search.AtLeast {
					t.Fatalf("%+v", target.Search)
				}
				bound, err := test.latency.Parse()
				must(t, err)
				limit := truth.HighestRate(perSecond, bound, test.share)
				found := float64(*target.Search.OfferedIOPS)
				t.Logf("found %g/s, %+.2f %% of the queue's %.1f/s", found, 100*(found/limit-1), limit)
				if found > limit || found < 0.95*limit {
					t.Errorf("found %g/s, and the queue M/D/1 has that percentile at %.1f/s", found, limit)
				}
				if done := float64(target.Search.AchievedIOPSMilli.Value) / 1000; math.Abs(done/found-1) > 0.02 {
					t.Errorf("%g/s were completed of %g/s", done, found)
				}
			})
		})
	}
}

// TestSearchAtTheBound checks that if rate.max meets the objective, the search reports that the highest rate may be
// higher.
func TestSearchAtTheBound(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := builders.Benchmark("b").Target("store").Workload(searched(100)).Prepare("layout").Search("search", "99", "5ms", 200, "1m")
		run := conduct(t, world(t, b, server(1000), 1))
		complete(t, run)
		target := run.Status.Phases[1].Targets[0]
		if found := target.Search; !found.Found || !found.AtLeast || *found.OfferedIOPS != 200 || !strings.Contains(found.Message, "may be higher") {
			t.Errorf("%+v", found)
		}
		if !hasWarning(&target, v1alpha1.WarningSearchInconclusive) {
			t.Errorf("warnings: %+v", target.Warnings)
		}
	})
}

// TestSearchOfNothing checks that the search finds no rate on a store where each operation takes longer than the bound.
func TestSearchOfNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		slow := model.Config{Latency: model.Latency{Fixed: 8 * time.Millisecond}}
		b := builders.Benchmark("b").Target("store").Workload(searched(100)).Prepare("layout").Search("search", "99", "5ms", 200, "1m")
		run := conduct(t, world(t, b, slow, 1))
		complete(t, run)
		target := run.Status.Phases[1].Targets[0]
		if target.Search.Found || len(target.Operations) > 0 || !hasWarning(&target, v1alpha1.WarningSearchInconclusive) {
			t.Errorf("%+v, %+v", target.Search, target.Warnings)
		}
		if ran := states(run, v1alpha1.StepSucceeded); ran != 2 {
			t.Errorf("%d steps ran, and the layout and the first rate suffice", ran)
		}
	})
}

// TestSearchBaseline checks that once the credits are drained, the search offers no rate above the baseline.
func TestSearchBaseline(t *testing.T) {
	t.Parallel()
	store := model.Config{Latency: model.Latency{Fixed: time.Millisecond}, Buckets: []model.Bucket{operations("credits", 300, 2000, 100_000)}}
	layout := func() *builders.BenchmarkBuilder {
		return builders.Benchmark("b").Target("store").Workload(searched(100)).Prepare("layout")
	}
	on := func(regime v1alpha1.Regime) func(*v1alpha1.RunSpec) {
		return func(r *v1alpha1.RunSpec) { r.Phases[len(r.Phases)-1].Search.Regime = regime }
	}
	for name, b := range map[string]*builders.BenchmarkBuilder{
		"drained in the phase":    layout().Search("search", "99", "20ms", 4000, "1m").Mutate(on(v1alpha1.RegimeBaseline)),
		"drained right before it": layout().BurstDrain("burst", "2m", "10m").Search("search", "99", "20ms", 4000, "1m").Mutate(on(v1alpha1.RegimeBaseline)),
		"drained earlier": layout().BurstDrain("burst", "2m", "10m").Steady("baseline", "5m").
			Search("search", "99", "20ms", 4000, "1m").Mutate(on(v1alpha1.RegimeBaseline)),
		"refilled, without regime": layout().BurstDrain("burst", "2m", "10m").Cooldown("refill", "10m").Search("search", "99", "20ms", 400, "1m").Mutate(on(v1alpha1.RegimeAny)),
	} {
		bubble(t, func(t *testing.T) {
			run := conduct(t, world(t, b, store, 1))
			complete(t, run)
			target := run.Status.Result("search", "store")
			if name == "refilled, without regime" {
				if !strings.Contains(target.Search.Message, "burst credits were not drained before") {
					t.Errorf("%s: %+v", name, target.Search)
				}
				return
			}
			drain := target
			if before := run.Status.Result("burst", "store"); before != nil {
				drain = before
			}
			if drain.Burst == nil || !drain.Burst.Exhausted {
				t.Fatalf("%s: the credits were not drained: %+v", name, drain.Burst)
			}
			for _, step := range target.Steps {
				if *step.OfferedIOPS > 305 {
					t.Errorf("%s: %d/s were offered, above the baseline", name, *step.OfferedIOPS)
				}
			}
			if !target.Search.Found || *target.Search.OfferedIOPS > 305 || !strings.HasSuffix(target.Search.Message, "; no rate up to the baseline missed the objective") {
				t.Errorf("%s: %+v", name, target.Search)
			}
			if slices.ContainsFunc(target.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningSearchInconclusive }) {
				t.Errorf("%s: %+v", name, target.Warnings)
			}
		})
	}
}

// TestSearchOnALowBaseline checks a search on a store with a baseline of 30 IOPS, too low for ten clients with a mix of
// reads and writes. The search offers only the lowest possible rate, which misses the objective.
func TestSearchOnALowBaseline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		mix := searched(70).Dataset("64Mi").Mutate(func(p *v1alpha1.FioProfile) { p.QueueDepth = new(int32(2)) })
		b := builders.Benchmark("b").Target("store").Clients(10).Workload(mix).Prepare("layout").
			Search("search", "99", "20ms", 1000, "1m").
			Mutate(func(r *v1alpha1.RunSpec) { r.Phases[1].Search.Regime = v1alpha1.RegimeBaseline })
		store := model.Config{Buckets: []model.Bucket{operations("credits", 30, 300, 20_000)}}
		run := conduct(t, world(t, b, store, 1))
		complete(t, run)
		target := run.Status.Result("search", "store")
		if steps := target.Steps; !target.Burst.Exhausted || len(steps) != 1 || *steps[0].OfferedIOPS != 100 {
			t.Fatalf("drain %+v, steps %+v", target.Burst, steps)
		}
		if target.Search.Found || !hasWarning(target, v1alpha1.WarningSearchInconclusive) {
			t.Errorf("%+v, %+v", target.Search, target.Warnings)
		}
	})
}

// TestSearchOperatorDies kills the operator at each action, before and after its facts are stored. The next operator
// must continue the same search: each step offers the recorded rate, which follows from the previous results.
func TestSearchOperatorDies(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := builders.Benchmark("b").Target("store").Workload(searched(100)).Prepare("layout").Search("search", "99", "5ms", 1500, "1m")
		w := world(t, b, server(1000), 1)
		died := map[string]bool{}
		once := func(when string) func(decide.Action) bool {
			return func(action decide.Action) bool {
				name := when + action.String()
				if action.Kind == decide.Wait || died[name] {
					return false
				}
				died[name] = true
				return true
			}
		}
		w.Before, w.Stored = once("before "), once("after ")
		run := conduct(t, w)
		complete(t, run)
		phase := run.Spec.Run.Phase("search")
		question, problems := search.Of(nil, phase.Search, 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		target := run.Status.Phases[1].Targets[0]
		recorded := map[string]int64{}
		for _, fact := range run.Status.Steps {
			if fact.OfferedIOPS != nil {
				recorded[fact.ID] = *fact.OfferedIOPS
			}
		}
		for i, step := range target.Steps {
			before := target
			before.Steps = target.Steps[:i]
			follows := question.Next(result.Trials(&before, time.Minute))
			at := slices.IndexFunc(w.Plan.Steps, func(s plan.Step) bool { return s.Cell == int(step.Cell) && s.Kind == v1alpha1.PhaseSearch })
			if *step.OfferedIOPS != follows.Rate || recorded[w.Plan.Steps[at].ID] != follows.Rate {
				t.Errorf("step %d offered %d/s and recorded %d, and %d follow from the steps before it", step.Cell, *step.OfferedIOPS,
					recorded[w.Plan.Steps[at].ID], follows.Rate)
			}
		}
		if len(target.Steps) < 10 || len(died) < 4*len(target.Steps) || !target.Search.Found {
			t.Errorf("%d steps, %d deaths, %+v", len(target.Steps), len(died), target.Search)
		}
	})
}

func states(run *v1alpha1.BenchmarkRun, state v1alpha1.StepState) (count int) {
	for _, fact := range run.Status.Steps {
		if fact.State == state {
			count++
		}
	}
	return count
}

func hasWarning(target *v1alpha1.TargetResult, kind v1alpha1.WarningType) bool {
	for _, warning := range target.Warnings {
		if warning.Type == kind {
			return true
		}
	}
	return false
}

func curve(target *v1alpha1.TargetResult) string {
	var b strings.Builder
	for _, step := range target.Steps {
		fmt.Fprintf(&b, "%t %d/s:", step.Confirms != nil, *step.OfferedIOPS)
		for _, o := range step.Operations {
			fmt.Fprintf(&b, " %s %.1f/s mean %s", o.Operation, float64(o.IOPSMilli)/1000, time.Duration(o.MeanNanoseconds))
			if o.P99Nanoseconds != nil {
				fmt.Fprintf(&b, " p99 %s", time.Duration(*o.P99Nanoseconds))
			}
		}
		if step.SlowerPPM != nil {
			fmt.Fprintf(&b, " %d ppm slower", *step.SlowerPPM)
		}
		b.WriteString("\n")
	}
	b.WriteString(target.Search.Message + "\n")
	if target.Knee != nil {
		b.WriteString(target.Knee.Message + "\n")
	}
	return b.String()
}
