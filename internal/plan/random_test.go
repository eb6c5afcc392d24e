package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// pick returns one of the values at random.
func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// some returns a random subset of the values, possibly empty, in random order.
func some[T any](random *rand.Rand, values ...T) []T {
	random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:random.IntN(len(values)+1)]
}

// anything returns a specification with random phases, most of them valid.
func anything(random *rand.Rand) *v1alpha1.RunSpec {
	b := builders.Benchmark("b").Clients(4).ActiveDeadline("168h")
	for _, name := range []string{"a", strings.Repeat("long", 10), "c"}[:1+random.IntN(3)] {
		b.Target(name)
		if random.IntN(3) > 0 {
			b.Throughput("10M", pick(random, "100M", "11M", "10M"), pick(random, "1G", "100G", "10T"), pick(random, "", "5M", "20M"))
		}
	}
	b.Workload(workload(random))
	if random.IntN(4) > 0 {
		b.Prepare("first")
	}
	for i := range 1 + random.IntN(5) {
		phase(random, b, fmt.Sprintf("%s-%d", pick(random, "p", strings.Repeat("phase", 7)), i))
	}
	return b.Run()
}

func workload(random *rand.Rand) *builders.FioBuilder {
	w := builders.Fio().ReadPercent(pick[int32](random, 0, 50, 100)).Dataset(pick(random, "64Mi", "128Mi", "96Mi"))
	if random.IntN(2) == 0 {
		w.Jobs(pick[int32](random, 1, 2, 4))
	}
	if random.IntN(3) == 0 {
		w.Mutate(func(p *v1alpha1.FioProfile) { p.FileSharing = v1alpha1.FilesShared })
	}
	if random.IntN(8) == 0 {
		return builders.JobFile(jobFile, "32Mi")
	}
	return w
}

func phase(random *rand.Rand, b *builders.BenchmarkBuilder, name string) {
	switch random.IntN(10) {
	case 0:
		b.Prepare(name).Precondition(pick[int32](random, 0, 2))
	case 1:
		b.Steady(name, "10m").WarmUp(pick[v1alpha1.Duration](random, "0s", "5s")).EndWhenSteady()
	case 2:
		b.BurstDrain(name, pick[v1alpha1.Duration](random, "", "1m"), pick[v1alpha1.Duration](random, "5m", "6h"))
	case 3:
		b.Cooldown(name, "10m")
	case 4:
		b.UntilCredits(name, pick[int32](random, 1, 90, 100))
		if random.IntN(2) == 0 {
			b.AtMost(pick[v1alpha1.Duration](random, "1m", "1h"))
		}
	case 5:
		b.Redrain(name, "10m")
		if random.IntN(2) == 0 {
			b.AtMost(pick[v1alpha1.Duration](random, "5m", "1h"))
		}
	case 6:
		b.Ramp(name, pick(random, v1alpha1.RampClients, v1alpha1.RampJobs, v1alpha1.RampQueueDepth), "30s", []int64{1, 2, 4}[:1+random.IntN(3)]...)
	case 7:
		b.Search(name, pick(random, "99", "99.9"), pick[v1alpha1.ShortDuration](random, "5ms", "50ms"), pick[int64](random, 1000, 5000), "1m").
			Sequential().With(sharedReads().ReadPercent(0))
	default:
		b.Sweep(name, pick(random, v1alpha1.RegimeAny, v1alpha1.RegimeBaseline, v1alpha1.RegimeBurst), pick[v1alpha1.Duration](random, "1s", "20s"),
			v1alpha1.SweepAxes{
				Clients: some[int32](random, 1, 2, 4), Jobs: some[int32](random, 1, 2, 3, 4), QueueDepth: some[int32](random, 1, 8),
				BlockSize: builders.BlockSizes(some(random, "4Ki", "64Ki", "1Mi")...), ReadPercent: some[int32](random, 0, 30, 100),
			})
	}
	if random.IntN(3) == 0 {
		b.Sequential()
	}
	if random.IntN(4) == 0 {
		b.With(workload(random))
	}
}

// TestAnyPlan checks the properties of every accepted plan, and that problems and warnings do not depend on the seed.
func TestAnyPlan(t *testing.T) {
	accepted, kinds, crowded := 0, map[v1alpha1.PhaseKind]int{}, 0
	for seed := range uint64(1500) {
		run := anything(rand.New(rand.NewPCG(seed, 1)))
		made, problems := plan.Make(run, 5)
		again, same := plan.Make(run, 5)
		if diff := cmp.Diff(made, again); diff != "" || len(problems) != len(same) {
			t.Fatalf("seed %d: a second plan differs:\n%s", seed, diff)
		}
		other, otherProblems := plan.Make(run, int64(seed)*7919-3)
		if diff := cmp.Diff(problems.ToAggregate(), otherProblems.ToAggregate(), cmp.Comparer(sameError)); diff != "" {
			t.Fatalf("seed %d: the problems depend on the seed of the run:\n%s", seed, diff)
		}
		if diff := cmp.Diff(made.Warnings, other.Warnings); diff != "" {
			t.Fatalf("seed %d: the warnings depend on the seed of the run:\n%s", seed, diff)
		}
		if len(problems) > 0 {
			if strings.Contains(problems.ToAggregate().Error(), "the limit of 1024 steps") {
				crowded++
			}
			continue
		}
		accepted++
		check(t, run, made)
		check(t, run, other)
		for _, step := range made.Steps {
			kinds[step.Kind]++
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text(made))
		}
	}
	t.Logf("%d accepted, steps of kinds %v, %d too many", accepted, kinds, crowded)
	if accepted < 400 || len(kinds) < 6 {
		t.Errorf("only %d were accepted, of kinds %v: the test proves little", accepted, kinds)
	}
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func check(t *testing.T, run *v1alpha1.RunSpec, made plan.Plan) {
	t.Helper()
	if len(made.Steps) == 0 || len(made.Steps) > 1024 {
		t.Errorf("%d steps", len(made.Steps))
	}
	written := map[string]map[string]uint64{}
	seeds := map[uint64]bool{}
	last := map[string]float64{}
	for i := range made.Steps {
		step := &made.Steps[i]
		if len(step.ID) > 63 || i > 0 && step.ID <= made.Steps[i-1].ID {
			t.Errorf("step %d: ID %s does not sort after the one before it, or is too long", i, step.ID)
		}
		if step.Limit <= 0 || step.Limit.Hours() > 168 || step.Duration < 0 || step.MinDuration < 0 || step.Clients > 4 {
			t.Errorf("step %s: %+v", step.ID, step)
		}
		if (step.Purpose == plan.Idle) != (len(step.Workloads) == 0) || (step.Purpose == plan.Idle) != (step.Clients == 0) {
			t.Errorf("step %s loads with %d workloads and %d clients", step.ID, len(step.Workloads), step.Clients)
		}
		if step.Purpose == plan.Idle && len(step.NewBytes) > 0 {
			t.Errorf("step %s lays something down", step.ID)
		}
		seeds[step.Client(5, 1, 0).StepSeed], seeds[step.Client(5, 2, 0).StepSeed] = true, true
		for target, credits := range step.Credits {
			if credits.StartPercent < last[target]-1e-9 || credits.StartPercent > 100+1e-9 || credits.EndPercent < 0 || credits.EndPercent > 100+1e-9 {
				t.Errorf("step %s: credits of %s %+v after %g", step.ID, target, credits, last[target])
			}
			last[target] = credits.EndPercent
		}
		loads(t, step, written)
	}
	if len(seeds) != 2*len(made.Steps) {
		t.Errorf("%d seeds for two attempts of %d steps", len(seeds), len(made.Steps))
	}
	for i := range run.Phases {
		if sweep := run.Phases[i].Sweep; sweep != nil {
			checkCells(t, made, i)
		}
	}
}

// loads checks that the tool's input can be rendered for each client, and that the step reads only written data.
func loads(t *testing.T, step *plan.Step, written map[string]map[string]uint64) {
	t.Helper()
	for target := range step.Workloads {
		load, use, client := step.Load(target), step.For(target), step.Client(5, 1, 3)
		if _, err := load.Render(&use, &client); err != nil {
			t.Errorf("step %s: %v", step.ID, err)
		}
		made, err := load.Describe(&use)
		if err != nil {
			t.Fatalf("step %s: %v", step.ID, err)
		}
		if written[target] == nil {
			written[target] = map[string]uint64{}
		}
		for name, size := range made.Files {
			switch step.Purpose {
			case plan.Prepare:
				written[target][name] = max(written[target][name], size)
			case plan.Measure, plan.Drain:
				if made.NeedsFiles && written[target][name] < size {
					t.Errorf("step %s reads %d bytes of %s on %s, of which %d are written", step.ID, size, name, target, written[target][name])
				}
			case plan.Precondition, plan.Idle:
			}
		}
	}
}

// checkCells checks that each cell is measured once, and that the first cell is repeated after every eight steps and at
// the end.
func checkCells(t *testing.T, made plan.Plan, phase int) {
	t.Helper()
	turns := map[string][]plan.Step{}
	for _, step := range made.Steps {
		if step.PhaseIndex == phase && step.Purpose == plan.Measure {
			who := strings.Join(step.Targets, ",")
			turns[who] = append(turns[who], step)
		}
	}
	for who, steps := range turns {
		var cells []int
		for i, step := range steps {
			again := i > 0 && (i%9 == 8 || i == len(steps)-1)
			if step.Repeat != again || again && step.Cell != steps[0].Cell {
				t.Errorf("phase %d on %s: turn %d is cell %d, repeat %v", phase, who, i, step.Cell, step.Repeat)
			}
			if again && (step.Overrides.String() != steps[0].Overrides.String() || step.Clients != steps[0].Clients) {
				t.Errorf("phase %d on %s: the repeated cell %d differs from the first time", phase, who, step.Cell)
			}
			if !again {
				cells = append(cells, step.Cell)
			}
		}
		slices.Sort(cells)
		for want, got := range cells {
			if want != got {
				t.Fatalf("phase %d on %s: cells %v", phase, who, cells)
			}
		}
	}
}

// TestOrderFollowsTheSeed checks that each seed yields another order of the cells, and that every cell can come first.
func TestOrderFollowsTheSeed(t *testing.T) {
	orders := map[string]bool{}
	firsts := map[int]int{}
	for seed := range int64(400) {
		made, problems := plan.Make(plans["sweep-any"].Run(), seed)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		var order []string
		for _, step := range made.Steps[1:] {
			order = append(order, fmt.Sprint(step.Cell))
		}
		orders[strings.Join(order, " ")] = true
		firsts[made.Steps[1].Cell]++
	}
	if len(orders) != 400 {
		t.Errorf("%d orders of 400", len(orders))
	}
	for cell := range 16 { // 25 are expected for each cell
		if firsts[cell] < 8 || firsts[cell] > 50 {
			t.Errorf("cell %d comes first in %d of 400", cell, firsts[cell])
		}
	}
}

// TestTwoSweepsDiffer checks that two sweeps of a run do not have the same order.
func TestTwoSweepsDiffer(t *testing.T) {
	axes := v1alpha1.SweepAxes{QueueDepth: []int32{1, 2, 3, 4, 5, 6, 7, 8}}
	made, problems := plan.Make(builders.Benchmark("b").Target("a").Sweep("one", v1alpha1.RegimeAny, "1s", axes).
		Sweep("two", v1alpha1.RegimeAny, "1s", axes).Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	same := 0
	for i := range 8 {
		if made.Steps[i].Cell == made.Steps[9+i].Cell {
			same++
		}
	}
	if same == 8 {
		t.Error("two sweeps have the same order")
	}
}
