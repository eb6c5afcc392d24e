package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/admission/admissiontest"
)

// stored creates the accepted case with the given name and deletes it when the test ends.
func stored(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	needsCluster(t)
	cases, err := admissiontest.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Name != name {
			continue
		}
		object := &unstructured.Unstructured{Object: c.Object}
		if err := cluster.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			// The test's own context has ended by now.
			if err := client.IgnoreNotFound(cluster.Delete(context.Background(), object)); err != nil {
				t.Error(err)
			}
		})
		return object
	}
	t.Fatalf("no accepted case %q", name)
	return nil
}

func get[T client.Object](t *testing.T, object client.Object, into T) T {
	t.Helper()
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), into); err != nil {
		t.Fatal(err)
	}
	return into
}

func TestRunSpecIsImmutable(t *testing.T) {
	object := stored(t, "run")
	old := runtime.DeepCopyJSON(object.Object)
	if err := unstructured.SetNestedField(object.Object, int64(8), "spec", "seed"); err != nil {
		t.Fatal(err)
	}
	err := cluster.Update(t.Context(), object.DeepCopy())
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec is immutable") {
		t.Errorf("a change of spec.seed gives %v", err)
	}
	problems, checkErr := admission.CheckUpdate(t.Context(), object.Object, old)
	if checkErr != nil {
		t.Fatal(checkErr)
	}
	if len(problems) != 1 || problems[0].Path != "spec" || !strings.Contains(problems[0].Message, "spec is immutable") {
		t.Errorf("without an API server: %v", problems)
	}

	unchanged := get(t, object, &v1alpha1.BenchmarkRun{})
	unchanged.Labels = map[string]string{v1alpha1.LabelBenchmark: "quick"}
	if err := cluster.Update(t.Context(), unchanged); err != nil {
		t.Errorf("a change of labels alone is refused: %v", err)
	}
}

func TestBenchmarkSpecCanChange(t *testing.T) {
	benchmark := get(t, stored(t, "benchmark with the least"), &v1alpha1.StorageBenchmark{})
	before := benchmark.Generation
	benchmark.Spec.Run.Clients.Count = 7
	if err := cluster.Update(t.Context(), benchmark); err != nil {
		t.Fatal(err)
	}
	if benchmark.Generation != before+1 {
		t.Errorf("generation went from %d to %d, want one more", before, benchmark.Generation)
	}
}

// TestObservedGenerationBeginsAtMinusOne checks that a new object does not look as if a controller had seen it: kstatus
// compares observedGeneration with the generation.
func TestObservedGenerationBeginsAtMinusOne(t *testing.T) {
	benchmark := get(t, stored(t, "benchmark with the least"), &v1alpha1.StorageBenchmark{})
	if got := benchmark.Status.ObservedGeneration; got != -1 {
		t.Errorf("benchmark: observedGeneration is %d, want -1", got)
	}
	profile := get(t, stored(t, "cluster profile"), &v1alpha1.ClusterWorkloadProfile{})
	if got := profile.Status.ObservedGeneration; got != -1 {
		t.Errorf("profile: observedGeneration is %d, want -1", got)
	}
}

func TestStatusIsApart(t *testing.T) {
	run := get(t, stored(t, "run"), &v1alpha1.BenchmarkRun{})
	generation := run.Generation

	run.Status.Stage = v1alpha1.StageRunning
	if err := cluster.Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if got := get(t, run, &v1alpha1.BenchmarkRun{}); got.Status.Stage != "" {
		t.Errorf("an update of the object has set status.stage to %q", got.Status.Stage)
	}

	full := fullStatus(run.Generation)
	run.Status = full
	run.Spec.Seed = 99
	if err := cluster.Status().Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	got := get(t, run, &v1alpha1.BenchmarkRun{})
	if got.Spec.Seed == 99 {
		t.Error("an update of the status has changed the spec")
	}
	if got.Generation != generation {
		t.Errorf("an update of the status has raised the generation from %d to %d", generation, got.Generation)
	}
	operation := got.Status.Phases[0].Targets[0].Operations[0]
	if operation.IOPSMilli == nil || *operation.IOPSMilli != 28_700 || operation.Latency.P999Nanoseconds != nil {
		t.Errorf("figures changed on the way: %+v", operation)
	}
	if !got.Status.StartTime.Time.Equal(full.StartTime.Time) {
		t.Errorf("startTime %v became %v", full.StartTime, got.Status.StartTime)
	}
}

// TestStatusMessagesAreBounded checks that the API server limits the messages of a status, too: it refuses one that is
// too long and accepts one that Truncate has shortened.
func TestStatusMessagesAreBounded(t *testing.T) {
	run := get(t, stored(t, "run"), &v1alpha1.BenchmarkRun{})
	run.Status = fullStatus(run.Generation)
	long := strings.Repeat("é", 600)
	run.Status.Steps[0].Message = long
	if err := cluster.Status().Update(t.Context(), run); !apierrors.IsInvalid(err) {
		t.Errorf("600 letters in a message: %v", err)
	}
	run.Status.Steps[0].Message = v1alpha1.Truncate(long, 512)
	run.Status.Warnings = []v1alpha1.Warning{v1alpha1.NewWarning(v1alpha1.WarningToolError, v1alpha1.PhaseSteady, long, make([]int32, 40)...)}
	if err := cluster.Status().Update(t.Context(), run); err != nil {
		t.Errorf("shortened messages are refused: %v", err)
	}
}

func fullStatus(generation int64) v1alpha1.BenchmarkRunStatus {
	start := metav1.NewMicroTime(time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC))
	end := metav1.NewMicroTime(start.Add(time.Minute))
	return v1alpha1.BenchmarkRunStatus{
		ObservedGeneration: generation,
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllPhasesDone,
			LastTransitionTime: metav1.NewTime(end.Time), ObservedGeneration: generation,
		}},
		Stage:     v1alpha1.StageComplete,
		StartTime: &start,
		EndTime:   &end,
		Environments: []v1alpha1.Environment{{
			Target: "disk", Clients: 1, Engine: v1alpha1.EngineFio, ToolVersion: "fio-3.33", CPUMilli: 2000,
			Volumes: []v1alpha1.MountedVolume{{Name: "data", FileSystem: "ext4", DirectIO: new(bool)}},
		}},
		Steps: []v1alpha1.StepStatus{{ID: "measure-0", Attempt: 1, State: v1alpha1.StepSucceeded, StartTime: &start, EndTime: &end}},
		Phases: []v1alpha1.PhaseResult{{
			Name: "measure", Kind: v1alpha1.PhaseSteady, StartTime: &start, EndTime: &end,
			Targets: []v1alpha1.TargetResult{{
				Target: "disk", Clients: 1, WindowNanoseconds: 10_000_000_000,
				Operations: []v1alpha1.OperationResult{{
					Operation: v1alpha1.OperationRead, Bytes: 1 << 40, Operations: 287,
					BytesPerSecond: new(int64(1_175_552)), IOPSMilli: new(int64(28_700)),
					Latency: &v1alpha1.LatencyResult{Samples: 287, MeanNanoseconds: 34_000_000, P50Nanoseconds: new(int64(33_000_000))},
				}},
				ClientSpread: &v1alpha1.ClientSpread{},
				Warnings:     []v1alpha1.Warning{v1alpha1.NewWarning(v1alpha1.WarningTooFewSamples, v1alpha1.PhaseSteady, "287 samples", 0)},
			}},
		}},
		LostClients: []v1alpha1.LostClient{{Target: "disk", Client: 0, Time: &start}},
		DataLeft:    []v1alpha1.DataLeft{{Target: "disk", Path: "bench/.storagebench/x"}},
	}
}
