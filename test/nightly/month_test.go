package nightly

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

const (
	// keptRuns and keptFailures are the history limits.
	keptRuns, keptFailures = 2, 1
)

// lives is the maximum number of writes before an operator dies.
const lives = 20

// TestNights runs three benchmarks each night, in two namespaces and time zones, across the start of daylight saving
// time. Two of them share a queue, and the third has the same volume as the second under another name. The operator
// keeps dying at random writes. Each due run must happen exactly once, no runs that conflict may overlap, and the
// history must be pruned to its limits.
func TestNights(t *testing.T) { nights(t, 5) }

func nights(t *testing.T, days int) {
	t.Helper()
	t.Parallel()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	must(t, err)
	w := &world{T: t, random: rand.New(rand.NewPCG(7, 7)), clock: clocktesting.NewFakePassiveClock(time.Now())}
	here, there := w.namespace(), w.namespace()
	w.bound(here, "other", "vol-of-the-month")
	w.bound(here, "data", "vol-data-"+here)
	w.bound(there, "same", "vol-of-the-month")
	// Daylight saving time starts in Europe on March 29th and ends in none of these nights.
	first := time.Date(2026, 3, 28-days/2, 12, 0, 0, 0, time.UTC)
	w.clock.SetTime(first)
	w.benchmark(here, "first", "data", "nights", "0 4 * * *", "Europe/Berlin")
	w.benchmark(here, "second", "other", "nights", "0 4 * * *", "Europe/Berlin")
	w.benchmark(there, "third", "same", "", "30 11 * * *", "Asia/Tokyo")
	w.conflicts = func(a, b *v1alpha1.BenchmarkRun) bool {
		x, y := a.Spec.BenchmarkRef.Name, b.Spec.BenchmarkRef.Name
		return x == y || x == "second" || y == "second" // first and third share nothing
	}
	w.watch()
	w.observed()

	due := map[string][]string{}
	for day := range days {
		for _, name := range []string{"first", "second"} {
			due[name] = append(due[name], time.Date(2026, 3, first.Day()+1+day, 4, 0, 0, 0, berlin).UTC().Format(time.RFC3339))
		}
		due["third"] = append(due["third"], time.Date(2026, 3, first.Day()+1+day, 11, 30, 0, 0, tokyo).UTC().Format(time.RFC3339))
	}
	for now, end := w.clock.Now(), first.AddDate(0, 0, days); now.Before(end); {
		// The operator checks at arbitrary times, at least every half day.
		now = now.Add(time.Duration(4*60+w.random.IntN(8*60)) * time.Minute)
		if now.After(end) {
			now = end
		}
		w.clock.SetTime(now)
		w.settle(here, there)
	}
	w.until("the pods of the last run are gone", func() bool { return len(w.pods()) == 0 })
	w.stop()
	w.enough()
	for name, times := range due {
		got := w.scheduled[name]
		if !slices.Equal(got, times) {
			t.Errorf("%s was run for the times %v, want %v", name, got, times)
		}
		if len(w.created[name]) != days {
			t.Errorf("%d runs of %s were made in %d nights", len(w.created[name]), name, days)
		}
	}
	for name, times := range w.begun {
		if times != 1 {
			t.Errorf("run %s began %d times", name, times)
		}
	}
	if len(w.begun) != 3*days || w.ended != 3*days {
		t.Errorf("%d runs began and %d ended, want %d", len(w.begun), w.ended, 3*days)
	}
	w.history(here, there)
	t.Logf("%d nights of three benchmarks: %d operators died at a write; %d runs waited for others", days, w.deaths, len(w.waited))
	// Each night, one of the two runs in the queue waits. A night takes some 35 writes, and an operator dies after 20 at
	// most.
	if w.deaths < days || len(w.waited) < days {
		t.Errorf("%d operators died and %d runs waited: this test shows little", w.deaths, len(w.waited))
	}
}

// benchmark creates a benchmark on a claim.
func (w *world) benchmark(namespace, name, claim, queue, line, zone string) {
	w.Helper()
	benchmark := builders.Benchmark(name).Target("data").Steady("write", "10s").Mutate(func(run *v1alpha1.RunSpec) {
		run.Targets[0].Volumes[0].ClaimName = claim
	}).Obj()
	benchmark.Namespace = namespace
	benchmark.Spec.Queue = queue
	benchmark.Spec.HistoryLimit, benchmark.Spec.FailedHistoryLimit = new(int32(keptRuns)), new(int32(keptFailures))
	benchmark.Spec.Trigger = &v1alpha1.Trigger{Schedule: line, TimeZone: zone}
	must(w.T, api.Create(w.Context(), benchmark))
}

// observed waits until an operator has seen the benchmarks. Schedules count from then on, because the creation times of
// the benchmarks are by the API server's clock and not by the test's.
func (w *world) observed() {
	w.Helper()
	w.operate()
	w.until("the benchmarks are seen", func() bool {
		for _, benchmark := range w.benchmarks() {
			if benchmark.Status.NextScheduleTime == nil || benchmark.Status.ActiveRun != nil {
				return false
			}
		}
		return true
	})
}

// settle waits until everything that is due now has happened.
func (w *world) settle(namespaces ...string) {
	w.Helper()
	w.poke()
	w.until("what is due has happened", func() bool {
		for _, benchmark := range w.benchmarks() {
			if benchmark.Status.ActiveRun != nil || !benchmark.Status.NextScheduleTime.After(w.clock.Now()) {
				return false
			}
		}
		return true
	})
	for _, namespace := range namespaces {
		for _, run := range w.runs(namespace) {
			if run.Status.EndTime == nil {
				w.Errorf("run %s is not over, and no benchmark knows of it", run.Name)
			}
		}
	}
}

// poke triggers the controller, as the passing of time would.
func (w *world) poke() {
	w.Helper()
	for _, benchmark := range w.benchmarks() {
		before := benchmark.DeepCopy()
		metav1.SetMetaDataAnnotation(&benchmark.ObjectMeta, "poke", fmt.Sprint(w.clock.Now().Unix(), w.random.Int()))
		must(w.T, api.Patch(w.Context(), &benchmark, client.MergeFrom(before)))
	}
}

// history checks that the history is pruned to its limits after the last operator had time to do so.
func (w *world) history(namespaces ...string) {
	w.Helper()
	complete, failed := map[string]int{}, map[string]int{}
	for _, namespace := range namespaces {
		for _, run := range w.runs(namespace) {
			if meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
				complete[run.Spec.BenchmarkRef.Name]++
			} else {
				failed[run.Spec.BenchmarkRef.Name]++
			}
		}
	}
	for _, name := range []string{"first", "second", "third"} {
		if complete[name] != keptRuns || failed[name] > keptFailures || failed[name] == 0 {
			w.Errorf("of %s there are %d complete and %d failed runs, want %d and at most %d", name, complete[name], failed[name], keptRuns, keptFailures)
		}
	}
}

// pods returns the pods of this test's runs, without those of other tests.
func (w *world) pods() []corev1.Pod {
	w.Helper()
	var all []corev1.Pod
	for _, namespace := range w.namespaces {
		var list corev1.PodList
		must(w.T, api.List(w.Context(), &list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelRun}))
		all = append(all, list.Items...)
	}
	return all
}
