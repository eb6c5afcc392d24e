package nightly

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

// maxRequestBytes is etcd's default limit for one write. The whole object must be smaller, with room for what others
// add to its metadata.
const maxRequestBytes = 3 << 19

// TestSizes checks that the records of the largest realistic runs are within the sizes of the design, and that the API
// server accepts them.
func TestSizes(t *testing.T) {
	t.Parallel()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	for name, test := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		length    time.Duration
		// most is the maximum size of the status, and leastSteps the minimum number of steps.
		most, leastSteps int
	}{
		// The measured time does not affect the size.
		"1000 clients": {length: time.Hour, most: 64 << 10, leastSteps: 2,
			benchmark: builders.Benchmark("long").Target("none").Target("lz4").Clients(500).OnLoss(v1alpha1.OnLossContinueDegraded, 0).
				Prepare("layout").Steady("burst", "12h")},
		"a sweep of 256 cells": {length: 20 * time.Second, most: 384 << 10, leastSteps: 289,
			benchmark: builders.Benchmark("sweep").Target("one").Target("two").Clients(4).Prepare("layout").Sweep("matrix", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{
				Jobs: []int32{1, 2, 4, 8}, QueueDepth: []int32{1, 2, 4, 8, 16, 32, 64, 128}, ReadPercent: []int32{0, 100}, BlockSize: blockSizes(4, 16, 64, 1024)})},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{T: t}
			namespace := w.namespace()
			spec := test.benchmark.Run()
			planned, problems := plan.Make(spec, 1)
			must(t, problems.ToAggregate())
			run := record.New(record.Identity{Name: "run", Namespace: namespace, Hash: strings.Repeat("f", 64), Seed: 1,
				Benchmark: v1alpha1.BenchmarkReference{Name: "bench", UID: "6b0f7f0c-0000-4000-8000-000000000001"}}, spec, planned)
			if len(run.Spec.Steps) < test.leastSteps {
				t.Fatalf("%d steps", len(run.Spec.Steps))
			}
			run.UID = ""
			must(t, api.Create(t.Context(), run))
			carryOut(run, planned, test.length)
			before := run.DeepCopy()
			must(t, api.Status().Update(t.Context(), run))
			stored := &v1alpha1.BenchmarkRun{}
			must(t, api.Get(t.Context(), client.ObjectKeyFromObject(run), stored))
			invariants.CheckObject(t, typed(stored))
			status, whole := sizeOf(t, stored.Status), sizeOf(t, stored)
			t.Logf("%d steps: status %d bytes, the whole object %d of %d that the API server takes", len(run.Spec.Steps), status, whole, maxRequestBytes)
			if status > test.most || sizeOf(t, before.Status) != status {
				t.Errorf("the status has %d bytes, of %d that were written, and may have %d", status, sizeOf(t, before.Status), test.most)
			}
			if whole > maxRequestBytes/2 {
				t.Errorf("the run has %d bytes, over half of what the API server takes", whole)
			}
			for _, phase := range stored.Status.Phases {
				if phase.Kind != v1alpha1.PhasePrepare && len(phase.Targets) != 2 {
					t.Errorf("phase %s has results of %d targets", phase.Name, len(phase.Targets))
				}
			}
		})
	}
}

// TestSeriesOfALongRun checks that one ConfigMap can store twelve hours of two targets, with a point per second.
func TestSeriesOfALongRun(t *testing.T) {
	t.Parallel()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	w := &world{T: t}
	log := &series.Log{}
	step := series.Step{ID: "01-burst", Attempt: 1}
	for _, name := range []string{"none", "lz4"} {
		target := series.Target{Name: name}
		for index := range 500 {
			target.Clients = append(target.Clients, series.ClientRate{Client: index, BytesPerSecond: 7_120_000 + int64(index)})
		}
		for second := range int64(12 * 60 * 60) {
			point := series.Point{StartNanoseconds: second * 1e9, EndNanoseconds: (second+1)*1e9 - second*second%1_000_000}
			point.Counters[measure.Write] = measure.Counter{Bytes: 3_560_000_000 + uint64(second*7919%100_000_000), Operations: 3395 + uint64(second*31%97)}
			target.Points = append(target.Points, point)
		}
		step.Targets = append(step.Targets, target)
	}
	log.Add(step)
	text, err := log.Encode(series.MaxBytes)
	must(t, err)
	must(t, api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: "run-series"},
		BinaryData: map[string][]byte{"series": text}}))
	t.Logf("12 hours of two targets and 1000 clients: %d bytes", len(text))
}

// carryOut gives a run results with large environments and many notices.
func carryOut(run *v1alpha1.BenchmarkRun, planned plan.Plan, length time.Duration) {
	record.Begin(run, builders.Start)
	var environments []v1alpha1.Environment
	for i := range 8 {
		for _, target := range run.Spec.Run.Targets {
			environments = append(environments, v1alpha1.Environment{Target: target.Name, Clients: 1, AgentVersion: "v0.1.0", Engine: v1alpha1.EngineFio, ToolVersion: "fio-3.41",
				Kernel: fmt.Sprintf("6.12.%d", i), Architecture: "amd64", CPUMilli: 4000, MemoryBytes: 16 << 30,
				Volumes: []v1alpha1.MountedVolume{{Name: "data", FileSystem: "lustre", Source: "10.0.0.1@tcp:/fsx", Options: strings.Repeat("option,", 40)}}})
		}
	}
	record.Environments(run, environments)
	now := builders.Start
	for _, step := range planned.Steps {
		attempt := decide.Attempt{Step: step.ID, Number: 1}
		record.Intent(run, step, decide.Action{Attempt: attempt, Start: now, Deadline: now.Add(length)})
		var clients []result.Client
		for _, target := range step.Targets {
			for index := range int(run.Spec.Run.Clients.Count) {
				one := builders.Client(target, index)
				for range 3 {
					one = one.Sample(length/3, measure.Write, builders.Counter(uint64(20_000+index), 65536), time.Duration(4+index%7)*time.Millisecond)
				}
				one = one.Notice("IOStalled", fmt.Sprintf("client %d: %s", index, strings.Repeat("no I/O for 31 s ", 10))).
					Notice("BytesUncertain", fmt.Sprintf("client %d: two counts differ by 7 %%", index))
				clients = append(clients, one.Obj())
			}
		}
		now = now.Add(length)
		record.Result(run, step, attempt, clients, now)
	}
	record.Finished(run, nil, now)
}

func blockSizes(kibibytes ...int64) []resource.Quantity {
	var sizes []resource.Quantity
	for _, size := range kibibytes {
		sizes = append(sizes, *resource.NewQuantity(size<<10, resource.BinarySI))
	}
	return sizes
}

func sizeOf(t *testing.T, value any) int {
	t.Helper()
	encoded, err := json.Marshal(value)
	must(t, err)
	return len(encoded)
}

func typed(run *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	return run
}
