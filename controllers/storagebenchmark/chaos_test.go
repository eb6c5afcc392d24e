package storagebenchmark

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// lifeOf plays a sequence under the disturbances that disturb installs, and describes its final state.
func lifeOf(t *testing.T, index int, disturb func(*world)) (w *world, end string) {
	t.Helper()
	sequence := sequences[index]
	var objects []client.Object
	for _, object := range sequence.objects {
		copied, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatalf("%T", object)
		}
		objects = append(objects, copied)
	}
	w = newWorld(t, objects...)
	if disturb != nil {
		disturb(w)
	}
	sequence.live(w)
	runs := ""
	for _, run := range w.runs() {
		runs += fmt.Sprintf("\n%s seed=%d hash=%s complete=%t", run.Name, run.Spec.Seed, run.Spec.Hash, isTrue(run.Status.Conditions, v1alpha1.ConditionComplete))
	}
	return w, fmt.Sprintf("%d runs were created; %s%s", len(w.created), stateLine(t, w.benchmark()), runs)
}

// normal is the outcome of an undisturbed sequence.
type normal struct {
	end string
	// writes is the number of writes of the controller.
	writes int
}

// normals caches the undisturbed outcomes by the index of their sequence, for all tests.
var normals sync.Map

func undisturbed(t *testing.T, index int) normal {
	t.Helper()
	if known, ok := normals.Load(index); ok {
		return known.(normal) //nolint:forcetypeassert // nothing else is in it
	}
	var life normal
	_, life.end = lifeOf(t, index, func(w *world) {
		w.die = func(after bool) bool {
			if after {
				life.writes++
			}
			return false
		}
	})
	normals.Store(index, life)
	return life
}

// fewMoments is the approximate number of moments per sequence at which the operator dies. The soak test uses all
// moments.
const fewMoments = 3

// TestDyingAtAWriteChangesNothing checks that the outcome of a sequence does not change if the operator dies before or
// after one of its writes: not even the name and seed of a run.
func TestDyingAtAWriteChangesNothing(t *testing.T) {
	// An odd stride covers moments both before and after writes. Each sequence starts at a different one.
	diesAt(t, func(sequence, moments int) (first, stride int) {
		stride = max(1, moments/fewMoments) | 1
		return sequence % stride, stride
	})
}

// diesAt plays each sequence once per selected moment, at which the operator dies.
func diesAt(t *testing.T, choose func(sequence, moments int) (first, stride int)) {
	t.Helper()
	for i := range sequences {
		t.Run(sequences[i].name, func(t *testing.T) {
			t.Parallel()
			life := undisturbed(t, i)
			want, moments := life.end, 2*life.writes
			if moments == 0 {
				t.Fatal("the controller wrote nothing")
			}
			first, stride := choose(i, moments)
			for moment := first; moment < moments; moment += stride {
				asked := 0
				_, got := lifeOf(t, i, func(w *world) {
					w.die = func(bool) bool {
						asked++
						return asked-1 == moment
					}
				})
				if got != want {
					t.Errorf("died at moment %d:\n%s\nundisturbed:\n%s", moment, got, want)
				}
			}
		})
	}
}

// seeds is the number of random seeds per test. The soak test uses many more.
const seeds = 1

// TestDyingOftenChangesNothing checks that the outcome does not change if the operator dies many times.
func TestDyingOftenChangesNothing(t *testing.T) { diesOften(t, seeds) }

func diesOften(t *testing.T, seeds uint64) {
	t.Helper()
	byChance(t, seeds, func(w *world, random *rand.Rand) {
		w.die = func(bool) bool { return random.IntN(4) == 0 }
	})
}

// TestLaggingCacheChangesNothing checks that the outcome does not change if the cache shows earlier states, delayed
// differently for each kind, and the operator also dies.
func TestLaggingCacheChangesNothing(t *testing.T) { lags(t, seeds) }

func lags(t *testing.T, seeds uint64) {
	t.Helper()
	byChance(t, seeds, func(w *world, random *rand.Rand) {
		lag(w, random)
		w.die = func(bool) bool { return random.IntN(8) == 0 }
	})
}

// byChance plays each sequence under random disturbances, once per seed.
func byChance(t *testing.T, seeds uint64, disturb func(*world, *rand.Rand)) {
	t.Helper()
	for i := range sequences {
		t.Run(sequences[i].name, func(t *testing.T) {
			t.Parallel()
			want := undisturbed(t, i).end
			for seed := range seeds {
				random := rand.New(rand.NewPCG(seed, 7))
				if _, got := lifeOf(t, i, func(w *world) { disturb(w, random) }); got != want {
					t.Errorf("seed %d:\n%s\nundisturbed:\n%s", seed, got, want)
				}
			}
		})
	}
}

// moment is a state that the cache may show.
type moment struct {
	benchmark *v1alpha1.StorageBenchmark
	runs      []v1alpha1.BenchmarkRun
}

// lag makes the controller read benchmarks and runs in earlier states. The states of each kind never go backwards.
func lag(w *world, random *rand.Rand) {
	var past []moment
	remember := func() {
		now := moment{runs: w.runs()}
		list := &v1alpha1.StorageBenchmarkList{}
		if err := w.client.List(w.tb.Context(), list); err != nil {
			w.tb.Fatal(err)
		}
		if len(list.Items) > 0 {
			now.benchmark = &list.Items[0]
		}
		past = append(past, now)
	}
	remember()
	w.written = remember
	shownBenchmark, shownRuns := 0, 0
	w.behind = func() bool { return shownBenchmark < len(past)-1 || shownRuns < len(past)-1 }
	step := func(shown *int) {
		if behind := len(past) - 1 - *shown; behind > 0 {
			*shown += random.IntN(min(behind, 3) + 1)
		}
	}
	w.reconciler.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			benchmark, ok := object.(*v1alpha1.StorageBenchmark)
			if !ok {
				return c.Get(ctx, key, object, options...)
			}
			step(&shownBenchmark)
			past[shownBenchmark].benchmark.DeepCopyInto(benchmark)
			return nil
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			runs, ok := list.(*v1alpha1.BenchmarkRunList)
			if !ok {
				return c.List(ctx, list, options...)
			}
			step(&shownRuns)
			runs.Items = nil
			for _, run := range past[shownRuns].runs {
				if owner := metav1.GetControllerOf(&run); owner != nil && owner.UID == "benchmark-uid" {
					runs.Items = append(runs.Items, *run.DeepCopy())
				}
			}
			return nil
		},
	})
}

// TestStaleCacheRestartsNothing checks that a deleted run is not created again, even if the cache still shows the state
// before its creation.
func TestStaleCacheRestartsNothing(t *testing.T) {
	w := newWorld(t, bench(), claimNamed("data"))
	var intended *v1alpha1.StorageBenchmark
	w.written = func() {
		if benchmark := w.benchmark(); benchmark.Status.ActiveRun != nil && benchmark.Status.ActiveRun.UID == "" {
			intended = benchmark
		}
	}
	w.settle()
	if intended == nil || w.active().UID == "" {
		t.Fatal("the run was not recorded before it was created")
	}
	if err := w.client.Delete(t.Context(), w.active()); err != nil {
		t.Fatal(err)
	}
	w.reconciler.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if benchmark, ok := object.(*v1alpha1.StorageBenchmark); ok {
				intended.DeepCopyInto(benchmark)
				return nil
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	if _, err := w.reconcile(); err != nil {
		t.Error(err)
	}
	if runs := w.runs(); len(runs) != 0 || len(w.created) != 1 {
		t.Errorf("%d runs are there after %v were created", len(runs), w.created)
	}
	w.reconciler.client = w.client
	w.settle()
	if last := w.benchmark().Status.LastRun; last == nil || last.Reason != v1alpha1.ReasonStopped {
		t.Errorf("the deleted run is %+v", last)
	}
}
