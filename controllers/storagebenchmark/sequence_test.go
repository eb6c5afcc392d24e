package storagebenchmark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

// good ends a run with the results that package record writes.
func good(run *v1alpha1.BenchmarkRun, now time.Time) {
	record.Begin(run, now.Add(-time.Minute))
	for _, step := range run.Spec.Steps {
		at := metav1.NewMicroTime(now)
		run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: step.ID, Attempt: 1, State: v1alpha1.StepSucceeded, StartTime: &at, EndTime: &at})
		targets := make([]v1alpha1.TargetResult, len(step.Targets))
		for i, target := range step.Targets {
			targets[i] = v1alpha1.TargetResult{Target: target, Clients: step.Clients, Operations: []v1alpha1.OperationResult{{
				Operation: v1alpha1.OperationWrite, Bytes: 1 << 30, Operations: 16384,
				BytesPerSecond: new(int64(107_374_182)), IOPSMilli: new(int64(1_638_400)),
				Latency: &v1alpha1.LatencyResult{Samples: 16384, MeanNanoseconds: 4_000_000, P99Nanoseconds: new(int64(9_000_000))},
			}}}
		}
		run.Status.Phases = append(run.Status.Phases, v1alpha1.PhaseResult{Name: step.Phase, Kind: step.Kind, Targets: targets})
	}
	record.Finished(run, nil, now)
}

// invalid ends a run with a disqualified result.
func invalid(run *v1alpha1.BenchmarkRun, now time.Time) {
	good(run, now)
	run.Status.Phases[0].Targets[0].Warnings = []v1alpha1.Warning{{
		Type: v1alpha1.WarningUnwrittenDataRead, Severity: v1alpha1.SeverityDisqualifying, Message: "half of it was never written"}}
	record.Finished(run, nil, now)
}

// failed ends a run without a result.
func failed(run *v1alpha1.BenchmarkRun, now time.Time) {
	record.Begin(run, now.Add(-time.Minute))
	record.Fail(run, decide.Failure{Reason: v1alpha1.ReasonStartTimeout, Message: "client data/0: image is not there"}, now)
	record.Finished(run, nil, now)
}

func request1(value string) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1alpha1.AnnotationRequestedAt, value)
	}
}

func manual(value string) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) { b.Spec.Trigger = &v1alpha1.Trigger{Manual: value} }
}

func clients(count int32) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) { b.Spec.Run.Clients.Count = count }
}

func suspend(value bool) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = &value }
}

var withProfile = builders.Benchmark("bench").Target("data").Steady("write", "10s").WithProfile(v1alpha1.WorkloadProfileKind, "heavy")

// sequence is the life of a benchmark. The golden file has a line for each reconcile that changes something.
type sequence struct {
	name    string
	objects []client.Object
	live    func(*world)
}

var sequences = []sequence{
	{"a benchmark is run once", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.goes(v1alpha1.StageConnecting)
		w.goes(v1alpha1.StageRunning)
		w.ends("good", good)
		w.edit("an edit beside spec.run", func(b *v1alpha1.StorageBenchmark) { b.Spec.HistoryLimit = new(int32(3)) })
		w.wait(24 * time.Hour)
	}},
	{"a run that fails, and a correction", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("failed", failed)
		w.edit("another number of clients", clients(2))
		w.ends("good", good)
	}},
	{"results that are not valid", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("invalid", invalid)
	}},
	{"an edit while a run is live waits for it", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("another number of clients", clients(2))
		w.ends("good", good)
		w.ends("good", good)
	}},
	{"an edit that is taken back while a run is live", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("another number of clients", clients(2))
		w.edit("and back", clients(1))
		w.ends("good", good)
	}},
	{"an edit that is taken back later is run again", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.edit("another number of clients", clients(2))
		w.ends("failed", failed)
		w.edit("and back", clients(1))
		w.ends("good", good)
	}},
	{"requests", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.edit("manual: release-42", manual("release-42"))
		w.ends("good", good)
		w.edit("requested at v1", request1("v1"))
		w.edit("requested at v2, while the run for v1 is live", request1("v2"))
		w.ends("failed", failed)
		w.ends("good", good)
		w.edit("requested at v1 again", request1("v1"))
		w.ends("good", good)
		w.edit("the request is removed", func(b *v1alpha1.StorageBenchmark) { b.Annotations = nil })
		w.edit("manual is removed", manual(""))
		w.edit("manual: release-42, which was handled", manual("release-42"))
	}},
	{"a request of great length", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.edit("requested", request1(fmt.Sprintf("%0400d", 7)))
		w.ends("good", good)
		w.edit("requested with another end", request1(fmt.Sprintf("%0400d", 8)))
	}},
	{"suspended before the first run", []client.Object{func() client.Object { b := bench(); suspend(true)(b); return b }(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("suspend: false", suspend(false))
	}},
	{"suspended with a verdict", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.edit("suspend: true", suspend(true))
		w.edit("another number of clients", clients(2))
		w.edit("manual: release-42", manual("release-42"))
		w.edit("suspend: false", suspend(false))
		w.ends("failed", failed)
		w.edit("suspend: true", suspend(true))
	}},
	{"suspended while a run is live", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("suspend: true", suspend(true))
		w.goes(v1alpha1.StageRunning)
		w.ends("good", good)
	}},
	{"suspended while a run of an earlier spec.run is live", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("another number of clients, suspend: true", func(b *v1alpha1.StorageBenchmark) { clients(2)(b); suspend(true)(b) })
		w.ends("good", good)
		w.edit("suspend: false", suspend(false))
	}},
	{"a profile and a claim are missing", []client.Object{benchWith(withProfile)}, func(w *world) {
		w.settle()
		w.wait(4 * time.Minute)
		w.add(profileNamed("heavy", builders.Fio()))
		w.wait(6 * time.Minute)
		w.edit("suspend: true", suspend(true))
		w.edit("suspend: false", suspend(false))
		w.add(claimNamed("data"))
	}},
	{"a claim is missing for a re-run only", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		if err := w.client.Delete(w.tb.Context(), claimNamed("data")); err != nil {
			w.tb.Fatal(err)
		}
		w.note("the claim is deleted")
		w.settle()
		w.edit("requested at v1", request1("v1"))
		w.wait(time.Hour)
		w.edit("the request is removed", func(b *v1alpha1.StorageBenchmark) { b.Annotations = nil })
	}},
	{"startTimeout counts from when a reference was missed", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.wait(time.Hour)
		w.edit("another claim", func(b *v1alpha1.StorageBenchmark) { b.Spec.Run.Targets[0].Volumes[0].ClaimName = "other" })
		w.wait(time.Hour)
		w.ends("good", good)
		w.wait(9 * time.Minute)
		w.wait(time.Minute)
	}},
	{"a workload that cannot be run", []client.Object{benchWith(withProfile), claimNamed("data"),
		profileNamed("heavy", builders.Fio().Reads())}, func(w *world) {
		w.settle()
		w.edit("a layout before it", func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Run = *builders.Benchmark("bench").Target("data").Prepare("layout").
				WithProfile(v1alpha1.WorkloadProfileKind, "heavy").Steady("read", "10s").
				WithProfile(v1alpha1.WorkloadProfileKind, "heavy").Run()
		})
	}},
	{"a live run is deleted", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.deletes(w.active())
		w.wait(time.Hour)
		w.edit("requested at v1", request1("v1"))
		w.ends("good", good)
	}},
	{"a live run is deleted to make way", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("another number of clients", clients(2))
		w.deletes(w.active())
	}},
	{"a judged run is deleted", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.deletes(&w.runs()[0])
		w.edit("another number of clients", clients(2))
		w.deletes(w.active())
		w.edit("and back", clients(1))
	}},
	{"status is lost while a run is live", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.loseStatus()
		w.ends("good", good)
		w.loseStatus()
	}},
	{"somebody else has the name", []client.Object{bench(), claimNamed("data")}, func(w *world) {
		w.takeName()
		w.edit("requested at v1", request1("v1"))
		w.deletes(&w.runs()[0])
	}},
	{"old runs go", []client.Object{func() client.Object {
		b := bench()
		b.Spec.HistoryLimit, b.Spec.FailedHistoryLimit = new(int32(2)), new(int32(0))
		return b
	}(), claimNamed("data")}, func(w *world) {
		w.settle()
		ends := map[bool]func(*v1alpha1.BenchmarkRun, time.Time){true: good, false: failed}
		for i := range 6 {
			w.ends("", ends[i%3 != 1])
			w.edit("requested", request1(fmt.Sprint(i)))
			w.history()
		}
	}},
}

// loseStatus clears the status, as a restored backup does.
func (w *world) loseStatus() {
	w.tb.Helper()
	benchmark := w.benchmark()
	benchmark.Status = v1alpha1.StorageBenchmarkStatus{ObservedGeneration: -1}
	if err := w.client.Status().Update(w.tb.Context(), benchmark); err != nil {
		w.tb.Fatal(err)
	}
	w.note("status is lost")
	w.settle()
}

// takeName creates a foreign run under the name that the benchmark's next run has reserved.
func (w *world) takeName() {
	w.tb.Helper()
	for w.benchmark().Status.ActiveRun == nil {
		if _, err := w.reconcile(); err != nil && !errors.Is(err, errCrash) {
			w.tb.Fatal(err)
		}
	}
	w.print()
	foreign := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.benchmark().Status.ActiveRun.Name}}
	w.add(foreign)
}

func (w *world) history() {
	w.tb.Helper()
	var names []string
	for _, run := range w.runs() {
		names = append(names, w.anonymous(run.Name))
	}
	_, _ = fmt.Fprintf(&w.out, "  %d runs are there\n", len(names))
}

func TestSequences(t *testing.T) {
	var got string
	for _, sequence := range sequences {
		t.Run(sequence.name, func(t *testing.T) {
			var objects []client.Object
			for _, object := range sequence.objects {
				copied, ok := object.DeepCopyObject().(client.Object)
				if !ok {
					t.Fatalf("%T", object)
				}
				objects = append(objects, copied)
			}
			w := newWorld(t, objects...)
			w.note("applied; kstatus says %s", kstatusOf(t, w.benchmark()))
			sequence.live(w)
			got += "== " + sequence.name + "\n" + w.out.String() + "\n"
		})
	}
	golden.Check(t, "sequences", got)
}

// TestDeletedBenchmarkIsLeftAlone checks that a reconcile does nothing, without an error, for a benchmark that is
// deleted or being deleted.
func TestDeletedBenchmarkIsLeftAlone(t *testing.T) {
	w := newWorld(t, bench(), claimNamed("data"))
	if err := w.client.Delete(t.Context(), w.benchmark()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reconcile(); err != nil {
		t.Errorf("a deleted benchmark: %v", err)
	}
	leaving := bench()
	leaving.Finalizers = []string{"foregroundDeletion"}
	w = newWorld(t, leaving, claimNamed("data"))
	if err := w.client.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reconcile(); err != nil {
		t.Error(err)
	}
	if len(w.runs()) != 0 || w.benchmark().Status.ObservedGeneration != -1 {
		t.Error("the reconcile changed a benchmark that is being deleted")
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "none"}, &v1alpha1.BenchmarkRun{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// TestRefusedStatus checks that an event reports that the API server refused a status, and suggests outdated CRDs as
// the cause.
func TestRefusedStatus(t *testing.T) {
	w := newWorld(t, bench(), claimNamed("data"))
	w.reconciler.client = interceptor.NewClient(w.client, interceptor.Funcs{
		SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "StorageBenchmark"}, "bench", nil)
		},
	})
	if _, err := w.reconcile(); !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
	select {
	case told := <-w.recorder.Events:
		if !strings.Contains(told, v1alpha1.EventRequestRefused) || !strings.Contains(told, "CRDs") {
			t.Errorf("event %q", told)
		}
	default:
		t.Error("no event")
	}
}
