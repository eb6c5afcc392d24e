package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

// predictions are not stored, because conducting a run does not depend on them.
var predictions = cmp.Options{
	cmpopts.IgnoreFields(plan.Plan{}, "Documented", "Promises", "Warnings"),
	cmpopts.IgnoreFields(plan.Step{}, "MaxIOPS", "Credits", "Reused", "Expected", "Longer"),
	cmpopts.EquateEmpty(),
}

// stored returns a run as read back from the API server.
func stored(t *testing.T, spec *v1alpha1.RunSpec, planned plan.Plan) *v1alpha1.BenchmarkRunSpec {
	t.Helper()
	written, err := json.Marshal(v1alpha1.BenchmarkRunSpec{Run: *spec, Seed: 1, Format: new(plan.Format), DatasetHash: planned.DatasetHash, Steps: planned.Freeze()})
	if err != nil {
		t.Fatal(err)
	}
	read := &v1alpha1.BenchmarkRunSpec{}
	if err := json.Unmarshal(written, read); err != nil {
		t.Fatal(err)
	}
	return read
}

func thawed(t *testing.T, run *v1alpha1.BenchmarkRunSpec) plan.Plan {
	t.Helper()
	planned, err := plan.Thaw(run)
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

// TestThaw checks that every kind of plan can be stored and restored without loss, except for predictions.
func TestThaw(t *testing.T) {
	specs := map[string]*v1alpha1.RunSpec{
		"striped": builders.Benchmark("b").Target("a").Mutate(func(run *v1alpha1.RunSpec) {
			run.Targets[0].Lustre = &v1alpha1.LustreStriping{StripeCount: new(int32(-1))}
		}).Prepare("layout").Steady("write", "1m").Run(),
		"volumes": builders.Benchmark("b").Target("a").Mutate(func(run *v1alpha1.RunSpec) {
			second := *run.Targets[0].Volumes[0].DeepCopy()
			second.Name, second.ClaimName = "more", "more"
			run.Targets[0].Volumes = append(run.Targets[0].Volumes, second)
		}).Prepare("layout").Steady("write", "1m").Run(),
	}
	for _, table := range []map[string]*builders.BenchmarkBuilder{plans, mpiPlans} {
		for name, benchmark := range table {
			specs[name] = benchmark.Run()
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		specs[fmt.Sprintf("random %d", i)] = anything(random)
	}
	compared := 0
	for name, spec := range specs {
		planned, problems := plan.Make(spec, 1)
		if len(problems) > 0 {
			if !strings.HasPrefix(name, "random") {
				t.Errorf("%s: %v", name, problems.ToAggregate())
			}
			continue
		}
		compared++
		if diff := cmp.Diff(planned, thawed(t, stored(t, spec, planned)), predictions); diff != "" {
			t.Errorf("%s: made (-) and thawed (+):\n%s", name, diff)
		}
	}
	if compared < 150 {
		t.Errorf("only %d specifications are sound", compared)
	}
}

// TestThawFollowsTheRun checks that a run is conducted as stored, even if today's planner would make other steps.
func TestThawFollowsTheRun(t *testing.T) {
	spec := plans["burst-known"].Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	run := stored(t, spec, planned)
	other := run.Steps[:0]
	for i, step := range run.Steps {
		if step.Purpose == plan.Prepare {
			continue
		}
		step.ID = fmt.Sprintf("s%d-%s", i, step.Phase)
		step.MaxDuration = "13m"
		other = append(other, step)
	}
	run.Steps, run.DatasetHash = other, "other"
	got := thawed(t, run)
	if len(got.Steps) != len(planned.Steps)-1 || got.DatasetHash != "other" {
		t.Errorf("%d steps, dataset %s", len(got.Steps), got.DatasetHash)
	}
	for _, step := range got.Steps {
		if !strings.HasPrefix(step.ID, "s") || step.Limit.Minutes() != 13 {
			t.Errorf("step %s is limited to %s", step.ID, step.Limit)
		}
	}
}

// smallFio returns a small load that suits a small bucket.
func smallFio() *builders.FioBuilder { return builders.Fio().BlockSize("64Ki").Dataset("64Mi") }

// storedBenchmarks are the benchmarks of the stored runs. test/sim conducts those of fio to their end.
var storedBenchmarks = map[string]*builders.BenchmarkBuilder{
	"drain-and-refill": builders.Benchmark("nightly").Target("store").Throughput("10M", "60M", "2G", "10M").Clients(2).Workload(smallFio()).
		Prepare("layout").BurstDrain("burst", "20s", "10m").Steady("baseline", "30s").WarmUp("5s").Redrain("refill", "30s").
		UntilCredits("wait", 25).Cooldown("pause", "10s"),
	"ramp-and-sweep": builders.Benchmark("nightly").Target("store").Clients(2).Workload(smallFio().ReadPercent(50)).Prepare("layout").
		Ramp("clients", v1alpha1.RampClients, "10s", 1, 2).Ramp("jobs", v1alpha1.RampJobs, "10s", 1, 4).
		Sweep("matrix", v1alpha1.RegimeAny, "10s", v1alpha1.SweepAxes{Jobs: []int32{1, 2}, BlockSize: builders.BlockSizes("4Ki", "64Ki"), ReadPercent: []int32{0, 100}}),
	"precondition-and-steady": builders.Benchmark("nightly").Target("store").Clients(2).Workload(smallFio()).Prepare("layout").Precondition(2).
		Steady("write", "2m").WarmUp("5s").EndWhenSteady().Steady("read", "10s").With(smallFio().Reads()),
	"ior": mpi().Prepare("layout").Steady("write", "1m").WarmUp("5s").WithLoad(builders.IOR().Overwrites().Engine()).
		Ramp("ranks", v1alpha1.RampProcesses, "30s", 1, 2).WithLoad(builders.IOR().Reads().Engine()).
		Steady("fio", "1m").With(builders.Fio().Dataset("128Mi")),
}

// storeRuns writes the stored runs of the current Format.
func storeRuns(t *testing.T) {
	t.Helper()
	for name, benchmark := range storedBenchmarks {
		spec := benchmark.Run()
		planned, problems := plan.Make(spec, 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		run := &v1alpha1.BenchmarkRun{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkRun"},
			ObjectMeta: metav1.ObjectMeta{Name: "nightly-1", Namespace: "default", UID: "run-1"},
			Spec:       *stored(t, spec, planned),
		}
		run.Spec.BenchmarkRef, run.Spec.Hash = v1alpha1.BenchmarkReference{Name: "nightly", UID: "benchmark-1"}, "a"
		written, err := yaml.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		folder := fmt.Sprintf("testdata/runs/format-%d", plan.Format)
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, name+".yaml"), written, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoredRuns checks that the stored runs of every format can still be restored. Format 1 omitted what its planner
// could recompute.
func TestStoredRuns(t *testing.T) {
	if *golden.Update {
		storeRuns(t)
	}
	for format := int32(1); format <= plan.Format; format++ {
		files, err := filepath.Glob(fmt.Sprintf("testdata/runs/format-%d/*.yaml", format))
		if err != nil || len(files) == 0 {
			t.Errorf("format %d: no stored run (%v): add some before it is released", format, err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".yaml")
			t.Run(name, func(t *testing.T) {
				stored, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				run := &v1alpha1.BenchmarkRun{}
				if err := yaml.UnmarshalStrict(stored, run); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, name, text(thawed(t, &run.Spec)))
			})
		}
	}
}

func TestCannotThaw(t *testing.T) {
	spec := plans["quickstart"].Run()
	planned, _ := plan.Make(spec, 1)
	for name, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkRunSpec)
		says   string
	}{
		"newer":     {func(run *v1alpha1.BenchmarkRunSpec) { run.Format = new(plan.Format + 1) }, fmt.Sprintf("spec.format is %d", plan.Format+1)},
		"phase":     {func(run *v1alpha1.BenchmarkRunSpec) { run.Steps[1].Phase = "gone" }, `spec.steps[1] (01-write): spec.run.phases has no phase "gone"`},
		"target":    {func(run *v1alpha1.BenchmarkRunSpec) { run.Steps[0].Targets = []string{"gone"} }, `spec.run.targets has no target "gone"`},
		"duration":  {func(run *v1alpha1.BenchmarkRunSpec) { run.Steps[1].WarmUp = "long" }, "warmUp: "},
		"workloads": {func(run *v1alpha1.BenchmarkRunSpec) { run.Run.Workload = nil }, "target data has no workload in phase layout"},
	} {
		t.Run(name, func(t *testing.T) {
			run := stored(t, spec, planned)
			test.change(run)
			if _, err := plan.Thaw(run); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}
