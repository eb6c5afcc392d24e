package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestBucketEmpty checks that a drain leaves the bucket empty for the next step, unless there is a pause. A pause may
// be unplanned: in an interference phase, for example, a target is idle while others are loaded.
func TestBucketEmpty(t *testing.T) {
	drain := v1alpha1.ResolvedStep{ID: "00-burst", Phase: "burst", Purpose: v1alpha1.StepDrain, Targets: []string{"data"}}
	load := v1alpha1.ResolvedStep{ID: "01-after", Phase: "after", Purpose: v1alpha1.StepMeasure, Targets: []string{"data"}}
	spent := func(id string, attempt int32, from, to int64) v1alpha1.StepStatus {
		return loaded(id, attempt, from, to, 20e6, 300)
	}
	for name, test := range map[string]struct {
		steps   []v1alpha1.StepStatus
		redrain bool
		want    bool
	}{
		"right after the drain":      {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 603, 613)}, want: true},
		"after an unplanned pause":   {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 660, 670)}},
		"after a pause, to redrain":  {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 660, 670)}, redrain: true, want: true},
		"after an attempt that lost": {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 603, 613), spent("01-after", 2, 616, 626)}, want: true},
		"after a repeated drain":     {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 20), spent("00-burst", 2, 23, 600), spent("01-after", 1, 603, 613)}, want: true},
		"in the drain's repetition":  {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 20), spent("00-burst", 2, 23, 600)}},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{}
			run.Spec.Steps = []v1alpha1.ResolvedStep{drain, load}
			run.Status.Steps = test.steps
			run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Kind: v1alpha1.PhaseBurstDrain, Targets: []v1alpha1.TargetResult{{Target: "data",
				Burst: &v1alpha1.BurstResult{Exhausted: true, Bytes: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 20e6}}}}}}}
			newest := test.steps[len(test.steps)-1]
			attempt := decide.Attempt{Step: newest.ID, Number: int(newest.Attempt)}
			planned := plan.Step{ID: newest.ID, Redrain: test.redrain}
			got := historyOf(run, plan.NewDemandModel(&run.Spec.Run), planned, attempt, "data", planned.Clients)
			if got.BucketEmpty != test.want {
				t.Errorf("got %t, want %t", got.BucketEmpty, test.want)
			}
		})
	}
}

// loaded returns an attempt with I/O on target data, at the given bytes and operations per second.
func loaded(id string, attempt int32, from, to, bytes, operations int64) v1alpha1.StepStatus {
	at := func(seconds int64) *metav1.MicroTime { return &metav1.MicroTime{Time: time.Unix(seconds, 0)} }
	return v1alpha1.StepStatus{ID: id, Attempt: attempt, FirstIOTime: at(from), LastIOTime: at(to),
		IO: []v1alpha1.StepIO{{Target: "data", Bytes: (to - from) * bytes, Operations: (to - from) * operations}}}
}

// TestCreditsOfOneClient checks that a step of one client out of eight spends the credits of the client's own volume if
// it has one, otherwise those of the shared volume or file server.
func TestCreditsOfOneClient(t *testing.T) {
	share := func() *builders.BenchmarkBuilder {
		return builders.Benchmark("b").Target("data").Throughput("80M", "800M", "800G", "80M").Clients(8)
	}
	for want, benchmark := range map[int32]*builders.BenchmarkBuilder{
		100: share(),
		52:  share().PerClient(),                                     // 1200 s * (50 - 10) MB/s of 100 GB
		98:  share().PerClient().Preset("aws-ebs/gp2", "20Gi"),       // 1200 s * (190.7 - 100) IOPS of 5.4 million
		99:  share().PerClient().Preset("aws-efs/bursting", "512Gi"), // 1200 s * (50 - 26.2) MB/s of 2.1 TiB
	} {
		run, planned := frozen(t, benchmark.Ramp("ramp", v1alpha1.RampClients, "20m", 1, 8).Run())
		run.Status.StartTime = &metav1.MicroTime{Time: time.Unix(0, 0)}
		run.Status.Storage = planned.Documented
		step := planned.Steps[0]
		run.Status.Steps = []v1alpha1.StepStatus{loaded(step.ID, 1, 0, 1200, 50e6, 50)}
		attempt := decide.Attempt{Step: step.ID, Number: 1}
		_, got, _ := credit(run, plan.NewDemandModel(&run.Spec.Run), step, attempt, "data")
		if difference := cmp.Diff(&want, got); difference != "" {
			t.Errorf("percent left (-want +got): %s", difference)
		}
	}
}

// TestDrainOfALateTarget checks that the warm-up of a target that starts late also ends late.
func TestDrainOfALateTarget(t *testing.T) {
	late := loaded("burst", 1, 0, 600, 30e6, 450)
	late.MeasuredTime = &metav1.MicroTime{Time: time.Unix(15, 0)}
	late.IO[0].FirstIOTime = &metav1.MicroTime{Time: time.Unix(60, 0)}
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.Steps = []v1alpha1.ResolvedStep{
		{ID: "burst", Phase: "burst", Purpose: v1alpha1.StepDrain, Targets: []string{"other", "data"}}}
	run.Status.Steps = []v1alpha1.StepStatus{late}
	got := ioOfDrain(run, plan.NewDemandModel(&run.Spec.Run), "burst", "data")
	if got.start.Unix() != 60 || got.measured.Unix() != 75 {
		t.Errorf("it starts at %d s and is measured from %d s, want 60 s and 75 s", got.start.Unix(), got.measured.Unix())
	}
}

// drainOf returns the result of a drain of target data, with the baseline in bytes and in operations per second.
func drainOf(exhausted bool, dimension string, bytes, operations int64) []v1alpha1.TargetResult {
	if !exhausted {
		return []v1alpha1.TargetResult{{Target: "data", Burst: &v1alpha1.BurstResult{Dimension: dimension}}}
	}
	series := func(baseline int64) *v1alpha1.BurstSeries {
		return &v1alpha1.BurstSeries{
			Burst: &v1alpha1.Estimate{Value: 2 * baseline}, Baseline: &v1alpha1.Estimate{Value: baseline}}
	}
	return []v1alpha1.TargetResult{{Target: "data", Burst: &v1alpha1.BurstResult{Exhausted: true, Dimension: dimension,
		Bytes: series(bytes), Operations: series(operations * 1000)}}}
}

// TestLoadsThatKeepABucketEmpty checks that a load of large blocks lets a bucket of operations refill, however many
// bytes it transfers, and that a load of small blocks lets a bucket of bytes refill.
func TestLoadsThatKeepABucketEmpty(t *testing.T) {
	for _, test := range []struct {
		dimension         string
		bytes, operations int64
		want              bool
	}{
		{"Operations", 1_200_000, 300, true},
		{"Operations", 100_000_000, 95, false},
		{"Bytes", 100_000_000, 95, true},
		{"Bytes", 400_000, 3000, false},
		{"Unknown", 1_200_000, 300, true},
		{"Unknown", 100_000_000, 95, false},
		{"Unknown", 400_000, 3000, false},
	} {
		run := &v1alpha1.BenchmarkRun{}
		burst := drainOf(true, test.dimension, 1_200_000, 300)
		run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Targets: burst}}
		run.Status.Steps = []v1alpha1.StepStatus{
			loaded("burst", 1, 0, 600, 1_500_000, 375), loaded("load", 1, 603, 1203, test.bytes, test.operations)}
		for id, purpose := range map[string]v1alpha1.StepPurpose{
			"burst": v1alpha1.StepDrain, "load": v1alpha1.StepMeasure, "refill": v1alpha1.StepDrain} {
			run.Spec.Steps = append(run.Spec.Steps,
				v1alpha1.ResolvedStep{ID: id, Phase: id, Purpose: purpose, Targets: []string{"data"}})
		}
		planned, attempt := plan.Step{ID: "refill", Redrain: true}, decide.Attempt{Step: "refill", Number: 1}
		got := historyOf(run, plan.NewDemandModel(&run.Spec.Run), planned, attempt, "data", planned.Clients)
		if end := got.LastEnd(); got.BucketEmpty != test.want || got.EmptyAt.Equal(end) != test.want {
			t.Errorf("%+v: empty is %t, the last time at %s", test, got.BucketEmpty, got.EmptyAt)
		}
	}
}

// TestOtherBucketIsFull checks a disk with a bucket of operations and one of bytes, such as an Azure P20. A drain of
// small blocks spends only operations, so large blocks still find all credits for bytes. Without documented limits, the
// store may be such a disk.
func TestOtherBucketIsFull(t *testing.T) {
	quantity := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	rates := func(baseline, burst, bucket string) *v1alpha1.RateLimits {
		return &v1alpha1.RateLimits{Baseline: quantity(baseline), Burst: quantity(burst), Bucket: quantity(bucket)}
	}
	p20 := &v1alpha1.Limits{Throughput: rates("150M", "170M", "36G"), IOPS: rates("2300", "3500", "2160k")}
	for dimension, documented := range map[string]*v1alpha1.Limits{"Operations": p20, "Unknown": nil} {
		spec := builders.Benchmark("b").Target("data").Workload(builders.Fio().BlockSize("4Ki")).
			BurstDrain("burst", "2m", "1h").Steady("small", "6m").
			Steady("large", "6m").With(builders.Fio().BlockSize("1Mi")).Run()
		spec.Targets[0].Documented = documented
		run, planned := frozen(t, spec)
		burst := drainOf(true, dimension, 9_420_800, 2300)
		run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Targets: burst}}
		run.Status.Steps = []v1alpha1.StepStatus{loaded(planned.Steps[0].ID, 1, 0, 3600, 11_878_400, 2900)}
		for _, step := range planned.Steps[1:] {
			attempt := decide.Attempt{Step: step.ID, Number: 1}
			got := historyOf(run, plan.NewDemandModel(&run.Spec.Run), step, attempt, "data", step.Clients)
			if want := step.Phase == "small"; got.BucketEmpty != want || got.EmptyAt.IsZero() == want {
				t.Errorf("%s, %s: empty is %t, at %s", dimension, step.Phase, got.BucketEmpty, got.EmptyAt)
			}
		}
	}
}

// TestOtherBlocksSpendMore checks a disk with a bucket of operations and one of bytes, where larger blocks spend both.
// A drain of small blocks empties only the bucket of operations, so the bucket is certain to be empty only for the same
// blocks.
func TestOtherBlocksSpendMore(t *testing.T) {
	quantity := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	rates := func(baseline, burst, bucket string) *v1alpha1.RateLimits {
		return &v1alpha1.RateLimits{Baseline: quantity(baseline), Burst: quantity(burst), Bucket: quantity(bucket)}
	}
	disk := &v1alpha1.Limits{Throughput: rates("10M", "20M", "3G"), IOPS: rates("200", "290", "5k")}
	mixed := func(split string) *builders.FioBuilder {
		return builders.JobFile("[a]\nrw=randwrite\nioengine=libaio\ndirect=1\nsize=64m\nbssplit="+split+"\n", "64Mi")
	}
	for name, test := range map[string]struct {
		drain, load *builders.FioBuilder
		want        bool
	}{
		"the same blocks":     {drain: builders.Fio().BlockSize("4Ki"), load: builders.Fio().BlockSize("4Ki"), want: true},
		"larger blocks":       {drain: builders.Fio().BlockSize("4Ki"), load: builders.Fio().BlockSize("64Ki")},
		"then several sizes":  {drain: builders.Fio().BlockSize("4Ki"), load: mixed("512k/50:1m/50")},
		"the same sizes":      {drain: mixed("4k/50:8k/50"), load: mixed("4k/50:8k/50"), want: true},
		"several other sizes": {drain: mixed("4k/50:8k/50"), load: mixed("512k/50:1m/50")},
	} {
		spec := builders.Benchmark("b").Target("data").BurstDrain("burst", "2m", "1h").With(test.drain).
			Steady("after", "6m").With(test.load).Run()
		spec.Targets[0].Documented = disk
		run, planned := frozen(t, spec)
		run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Targets: drainOf(true, "Operations", 819_200, 200)}}
		run.Status.Steps = []v1alpha1.StepStatus{loaded(planned.Steps[0].ID, 1, 0, 3600, 830_000, 203)}
		after := planned.Steps[1]
		attempt := decide.Attempt{Step: after.ID, Number: 1}
		got := historyOf(run, plan.NewDemandModel(&run.Spec.Run), after, attempt, "data", after.Clients)
		if got.BucketEmpty != test.want {
			t.Errorf("%s: empty is %t, want %t", name, got.BucketEmpty, test.want)
		}
	}
}

// frozen returns a run with the plan of a specification.
func frozen(t *testing.T, spec *v1alpha1.RunSpec) (*v1alpha1.BenchmarkRun, plan.Plan) {
	t.Helper()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return &v1alpha1.BenchmarkRun{Spec: v1alpha1.BenchmarkRunSpec{Run: *spec, Steps: planned.Freeze()}}, planned
}

// TestRepeatedDrainBeganWithCredits checks that a repeated drain is not reported to have begun without credits. Its
// result is that of the newest attempt and does not show whether an earlier one spent them.
func TestRepeatedDrainBeganWithCredits(t *testing.T) {
	at := func(seconds int64) *metav1.MicroTime { return &metav1.MicroTime{Time: time.Unix(seconds, 0)} }
	attempt := func(number int32, from, to int64) v1alpha1.StepStatus {
		return v1alpha1.StepStatus{ID: "00-burst", Attempt: number, FirstIOTime: at(from), LastIOTime: at(to),
			IO: []v1alpha1.StepIO{{Target: "data", Bytes: (to - from) * 30e6}}}
	}
	run := &v1alpha1.BenchmarkRun{}
	drain := v1alpha1.ResolvedStep{ID: "00-burst", Phase: "burst", Purpose: v1alpha1.StepDrain, Targets: []string{"data"}}
	run.Spec.Steps = []v1alpha1.ResolvedStep{drain}
	run.Status.Steps = []v1alpha1.StepStatus{attempt(1, 0, 1), attempt(2, 4, 600)}
	series := &v1alpha1.BurstSeries{Burst: &v1alpha1.Estimate{Value: 60e6}, Baseline: &v1alpha1.Estimate{Value: 20e6}}
	found := v1alpha1.TargetResult{Target: "data", Burst: &v1alpha1.BurstResult{Exhausted: true, Bytes: series}}
	run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Targets: []v1alpha1.TargetResult{found}}}
	documented := limits.Limit{Name: "instance network", Dimension: limits.Bytes, Baseline: 20e6, Burst: 60e6}
	a := attributor{run: run, target: "data", demands: plan.NewDemandModel(&run.Spec.Run),
		documented: limits.Computed{Limits: []limits.Limit{documented}}}
	a.follow()
	if got := a.emptied["00-burst"]; len(got) > 0 {
		t.Errorf("the drain began without the credits of %q", got)
	}
}

// TestDrainWithoutCredits checks that a drain that began without credits, and therefore found no drop, does not hide
// that they were spent before.
func TestDrainWithoutCredits(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	for _, id := range []string{"burst", "again", "after"} {
		run.Spec.Steps = append(run.Spec.Steps,
			v1alpha1.ResolvedStep{ID: id, Phase: id, Purpose: v1alpha1.StepDrain, Targets: []string{"data"}})
	}
	run.Status.Steps = []v1alpha1.StepStatus{loaded("burst", 1, 0, 600, 30e6, 450),
		loaded("again", 1, 603, 903, 20e6, 300), loaded("after", 1, 906, 916, 20e6, 300)}
	run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Targets: drainOf(true, "Bytes", 20e6, 300)},
		{Name: "again", Targets: drainOf(false, "Unknown", 0, 0)}}
	documented := limits.Limit{Name: "instance network", Dimension: limits.Bytes, Baseline: 20e6, Burst: 60e6}
	a := attributor{run: run, target: "data", demands: plan.NewDemandModel(&run.Spec.Run),
		documented: limits.Computed{Limits: []limits.Limit{documented}}}
	a.follow()
	if got := a.emptied["after"]; len(got) != 1 {
		t.Errorf("the last step began without the credits of %q", got)
	}
}

// TestLastDrain checks that the last drain of a target before a step determines whether its credits are spent. A drain
// that began without credits does not count: the one before it remains decisive.
func TestLastDrain(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	demands := plan.NewDemandModel(&run.Spec.Run)
	for i, one := range []struct {
		phase      string
		drain      []v1alpha1.TargetResult
		operations int64
		want       float64
	}{
		{"before", nil, 2000, 0},
		{"burst", drainOf(true, "Unknown", 20e6, 1000), 1500, 1000},
		{"search", nil, 100, 1000},
		{"again", drainOf(false, "Unknown", 0, 0), 1000, 0},
		{"last", drainOf(true, "Unknown", 60e6, 3000), 3500, 3000},
		{"baseline", nil, 3000, 3000},
		{"unneeded", drainOf(false, "Unknown", 0, 0), 3000, 3000},
		{"slow", nil, 100, 3000},
		{"unclear", drainOf(false, "Unknown", 0, 0), 3000, 0},
	} {
		purpose, start := v1alpha1.StepMeasure, int64(i)*603
		if one.drain != nil {
			purpose = v1alpha1.StepDrain
		}
		run.Spec.Steps = append(run.Spec.Steps,
			v1alpha1.ResolvedStep{ID: one.phase, Phase: one.phase, Purpose: purpose, Targets: []string{"data"}})
		run.Status.Phases = append(run.Status.Phases, v1alpha1.PhaseResult{Name: one.phase, Targets: one.drain})
		run.Status.Steps = append(run.Status.Steps,
			loaded(one.phase, 1, start, start+600, one.operations*20_000, one.operations))
		if got := operationsBaseline(run, plan.Step{ID: one.phase, Targets: []string{"data"}}); got != one.want {
			t.Errorf("after %s: the baseline is %g, want %g", one.phase, got, one.want)
		}
		if got := lastDrain(run, demands, &v1alpha1.ResolvedStep{}, "data"); (got != nil) != (one.want > 0) {
			t.Errorf("after %s: the last drain is %+v", one.phase, got)
		}
		if got := lastDrain(run, demands, &v1alpha1.ResolvedStep{}, "other"); got != nil {
			t.Errorf("another target has the drain %+v", got)
		}
	}
}

// TestBaselineOfOtherBlocks checks the baseline, in operations per second, that bounds a search with smaller blocks
// than those of the drain. If the drain spent operations, it is the drain's own baseline. If it spent bytes, it is the
// same bytes per second in smaller blocks.
func TestBaselineOfOtherBlocks(t *testing.T) {
	for dimension, want := range map[string]float64{"Bytes": 32e6 / 4096, "Operations": 30, "Unknown": 0} {
		run, planned := frozen(t, builders.Benchmark("b").Target("data").Workload(builders.Fio().BlockSize("4Ki")).
			BurstDrain("burst", "2m", "1h").With(builders.Fio().BlockSize("1Mi")).Steady("after", "1m").Run())
		run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Targets: drainOf(true, dimension, 32e6, 30)}}
		run.Status.Steps = []v1alpha1.StepStatus{loaded(planned.Steps[0].ID, 1, 0, 600, 64e6, 60)}
		if got := operationsBaseline(run, planned.Steps[1]); got != want {
			t.Errorf("%s: the baseline is %g, want %g", dimension, got, want)
		}
	}
}

// TestDrainSpent checks that a drain that was too short to spend the credits does not hide another one that spent them.
func TestDrainSpent(t *testing.T) {
	burst := drainOf(true, "Unknown", 20e6, 300)
	series := burst[0].Burst.Bytes
	series.Refill = &v1alpha1.Estimate{Value: 20e6}
	drop := v1alpha1.Drop{Before: *series.Burst, After: *series.Baseline, Spent: &v1alpha1.Estimate{Value: 4e9}}
	series.Drops = []v1alpha1.Drop{drop}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "short", Kind: v1alpha1.PhaseBurstDrain, Targets: drainOf(false, "Unknown", 0, 0)},
		{Name: "burst", Kind: v1alpha1.PhaseBurstDrain, Targets: burst},
	}
	if got, _ := drainSpent(run, "refill", "data"); got == nil || got.Amount != 4e9 {
		t.Errorf("the drains before have spent %+v", got)
	}
}

// TestBaselines checks that the rates come from the last drain that spent all credits.
func TestBaselines(t *testing.T) {
	drained := func(exhausted bool, burst, baseline int64) []v1alpha1.TargetResult {
		bytes := &v1alpha1.BurstSeries{Burst: &v1alpha1.Estimate{Value: burst}, Baseline: &v1alpha1.Estimate{Value: baseline}}
		return []v1alpha1.TargetResult{{Target: "data", Burst: &v1alpha1.BurstResult{Exhausted: exhausted, Bytes: bytes}}}
	}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "burst", Targets: drained(true, 200e6, 100e6)},
		{Name: "again", Targets: drained(true, 170e6, 150e6)},
		{Name: "part", Targets: drained(false, 170e6, 170e6)},
	}
	if got, want := Baselines(run)["data"], (limits.Rates{Baseline: 150e6, Burst: 170e6}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The I/O of a step counts as that of the clients that were there for at least half of its time, so that only their
// volumes have spent credits.
func TestDegraded(t *testing.T) {
	lost := v1alpha1.LostClient{Target: "data", Client: 2, Time: micro(time.Unix(100, 0))}
	replaced := lost
	replaced.Replaced = true
	for name, test := range map[string]struct {
		policy v1alpha1.OnLoss
		losses []v1alpha1.LostClient
		target string
		from   int64 // the I/O takes 20 s from then
		want   int32
	}{
		"after the loss":          {v1alpha1.OnLossContinueDegraded, []v1alpha1.LostClient{lost}, "data", 110, 3},
		"lost in its first half":  {v1alpha1.OnLossContinueDegraded, []v1alpha1.LostClient{lost}, "data", 91, 3},
		"lost in its second half": {v1alpha1.OnLossContinueDegraded, []v1alpha1.LostClient{lost}, "data", 89, 4},
		"before the loss":         {v1alpha1.OnLossContinueDegraded, []v1alpha1.LostClient{lost}, "data", 80, 4},
		"another target":          {v1alpha1.OnLossContinueDegraded, []v1alpha1.LostClient{lost}, "other", 110, 4},
		"a replaced client":       {v1alpha1.OnLossContinueDegraded, []v1alpha1.LostClient{replaced}, "data", 110, 4},
		"a replacement lost":      {v1alpha1.OnLossContinueDegraded, []v1alpha1.LostClient{replaced, lost}, "data", 110, 3},
		"steps that are redone":   {v1alpha1.OnLossRestartStep, []v1alpha1.LostClient{lost}, "data", 110, 4},
	} {
		run := &v1alpha1.BenchmarkRun{}
		run.Spec.Run.Clients.OnLoss = test.policy
		run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "00-write", Clients: 4}}
		run.Status.LostClients = test.losses
		if got := degraded(run, "00-write", test.target, result.Span{Start: time.Unix(test.from, 0), End: time.Unix(test.from+20, 0)}); got.Clients != test.want {
			t.Errorf("%s: %d clients, want %d", name, got.Clients, test.want)
		}
	}
}
