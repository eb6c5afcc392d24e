package scale

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/soak"
)

// deploymentMemory is the memory limit of the Deployment.
const deploymentMemory = 512 << 20

// fits checks that the operator has never taken more memory than its Deployment allows.
func (u *usage) fits(t *testing.T) {
	t.Helper()
	if u.MostResident > deploymentMemory {
		t.Errorf("the operator took %d MiB, and its Deployment allows %d", u.MostResident/mebibyte, deploymentMemory/mebibyte)
	}
}

// connected waits until the operator is connected to the given number of agents.
func (w *world) connected(agents int) {
	w.Helper()
	hang.Until(w, fmt.Sprintf("%d agents are connected", agents), func() bool {
		return w.operator.Load().counts("storagebench_agents_connected") == float64(agents)
	})
}

// TestLargestRuns measures five runs with the maximum number of clients, and kills the operator while they load. The
// next operator must read all logs again and count each sample once.
func TestLargestRuns(t *testing.T) {
	soak.Only(t)
	w := newWorld(t)
	first := w.operate(memoryLimit)
	var all []*state
	created := time.Now()
	for i := range *largest {
		all = append(all, w.benchmark(fmt.Sprintf("large-%d", i), "large", "claim", v1alpha1.MaxRunClients, 4**window))
	}
	for _, one := range all {
		hang.Until(t, "the run loads", func() bool { return isClosed(one.loading) })
	}
	loading := time.Since(created)
	record := Record{Figures: []Figures{w.measure(len(all), *window)}}
	killed := time.Now()
	first.kill()
	w.operate(memoryLimit)
	leading := time.Since(killed)
	w.connected(len(all) * v1alpha1.MaxRunClients)
	reached := time.Since(killed)
	record.Figures = append(record.Figures, w.measure(len(all), *window))
	for _, one := range all {
		w.await(one)
		w.resultsOf(one)
	}
	w.end(&record)
	soak.Report(t, "times", "from apply to the load of all runs %.1f s; after the operator was killed, the next one "+
		"led after %.1f s and had all agents after %.1f s", loading.Seconds(), leading.Seconds(), reached.Seconds())
	judge(t, record.Figures[:1]) // in the second window, the age of the status includes the time without an operator
}

// TestHistory measures what thousands of completed runs cost an operator, and how soon it leads and a new run loads.
func TestHistory(t *testing.T) {
	soak.Only(t)
	w := newWorld(t)
	o := w.operate(memoryLimit)
	model := w.benchmark("history", "model", "claim", 8, 5*time.Second)
	w.await(model)
	w.nothingLeft()
	without := o.use(t)
	o.kill()
	w.copies(model.run, *history)
	began := time.Now()
	o = w.operate(memoryLimit)
	leading := time.Since(began)
	next := w.benchmark("history", "next", "claim", 8, 5*time.Second)
	created := time.Now()
	hang.Until(t, "the run loads", func() bool { return isClosed(next.loading) })
	loading := time.Since(created)
	w.await(next)
	with := o.use(t)
	soak.Report(t, "figures", "%d runs of history: heap %.1f MiB (without %.1f MiB, so %.2f KiB a run), most resident "+
		"%.1f MiB, %.1f s of CPU; the operator led after %.1f s (with the Lease of one that was killed), and a run loaded "+
		"%.1f s after it was made", *history, float64(with.HeapBytes)/mebibyte, float64(without.HeapBytes)/mebibyte,
		float64(with.HeapBytes-without.HeapBytes)/kibibyte/float64(*history),
		float64(with.MostResident)/mebibyte, with.CPU.Seconds(), leading.Seconds(), loading.Seconds())
	with.fits(t)
}

// copies creates copies of a completed run, for benchmarks with as many runs as a benchmark may keep.
func (w *world) copies(of types.NamespacedName, count int) {
	w.Helper()
	const each = 200 // successfulRunsHistoryLimit
	ctx := context.Background()
	var model v1alpha1.BenchmarkRun
	must(w, w.api.Get(ctx, of, &model))
	limit, suspended := int32(each), true
	slots := make(chan struct{}, 16)
	var workers sync.WaitGroup
	for first := 0; first < count; first += each {
		benchmark := builders.Benchmark(fmt.Sprintf("old-%d", first/each)).Target("data").Steady(loadPhase, "1m").Obj()
		benchmark.Namespace, benchmark.Spec.Suspend, benchmark.Spec.SuccessfulRunsHistoryLimit = of.Namespace, &suspended, &limit
		must(w, w.api.Create(ctx, benchmark))
		for i := range min(each, count-first) {
			slots <- struct{}{}
			workers.Go(func() {
				defer func() { <-slots }()
				run := model.DeepCopy()
				owner := *metav1.NewControllerRef(benchmark, v1alpha1.GroupVersion.WithKind("StorageBenchmark"))
				run.ObjectMeta = metav1.ObjectMeta{Namespace: of.Namespace, Name: fmt.Sprintf("%s-%d", benchmark.Name, i),
					Labels: model.Labels, OwnerReferences: []metav1.OwnerReference{owner}}
				run.Spec.BenchmarkRef = v1alpha1.BenchmarkReference{Name: benchmark.Name, UID: string(benchmark.UID)}
				status := run.Status
				must(w, w.api.Create(ctx, run))
				run.Status = status
				must(w, w.api.Status().Update(ctx, run))
			})
		}
	}
	workers.Wait()
}

// TestCrowdedNamespace checks that a tenant's runs with the maximum number of clients, in a namespace whose quota
// allows no pods, do not keep other tenants from measuring.
func TestCrowdedNamespace(t *testing.T) {
	soak.Only(t)
	w := newWorld(t)
	w.perNamespace = v1alpha1.MaxRunClients // the default
	o := w.operate(memoryLimit)
	w.namespace("crowd")
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "crowd", Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: none}}
	must(t, w.api.Create(t.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} // as the quota controller would set it
	must(t, w.api.Status().Update(t.Context(), quota))
	for i := range 4 {
		w.benchmark("crowd", fmt.Sprintf("crowd-%d", i), fmt.Sprintf("claim-%d", i), v1alpha1.MaxRunClients, time.Minute,
			func(b *builders.BenchmarkBuilder) { b.StartTimeout("168h") })
	}
	hang.Until(t, "a run of the crowd waits for its pods", func() bool {
		var runs v1alpha1.BenchmarkRunList
		must(t, w.api.List(t.Context(), &runs, client.InNamespace("crowd")))
		for i := range runs.Items {
			if strings.Contains(runs.Items[i].Status.Message, "quota") {
				return true
			}
		}
		return false
	})
	created := time.Now()
	other := w.benchmark("tenant", "other", "claim", 8, 10*time.Second)
	hang.Until(t, "the other tenant's run loads", func() bool { return isClosed(other.loading) })
	loading := time.Since(created)
	w.await(other)
	used := o.use(t)
	soak.Report(t, "figures", "beside 4 runs of %d clients without a pod, another tenant's run loaded %.1f s after it was "+
		"made; most resident %.1f MiB", v1alpha1.MaxRunClients, loading.Seconds(), float64(used.MostResident)/mebibyte)
	used.fits(t)
	must(t, w.api.DeleteAllOf(t.Context(), &v1alpha1.StorageBenchmark{}, client.InNamespace("crowd")))
	must(t, w.api.DeleteAllOf(t.Context(), &v1alpha1.BenchmarkRun{}, client.InNamespace("crowd")))
	w.nothingLeft()
}

// hostileAgents is the number of agents of a run that flood the operator.
const hostileAgents = 32

// TestHostileAgents checks that agents that report without end do not make the operator exceed the memory limit of its
// Deployment, neither before nor after it is killed, and that another run at the same time is measured correctly.
func TestHostileAgents(t *testing.T) {
	soak.Only(t)
	w := newWorld(t)
	w.fleet.hostile = func(benchmark string) bool { return benchmark == "hostile" }
	first := w.operate(memoryLimit)
	hostile := w.benchmark("hostile", "hostile", "claim", hostileAgents, time.Minute)
	good := w.benchmark("tenant", "good", "claim", 8, time.Minute)
	hang.Until(t, "the good run loads", func() bool { return isClosed(good.loading) })
	before := first.use(t)
	first.kill()
	second := w.operate(memoryLimit)
	w.await(good)
	w.resultsOf(good)
	hang.Until(t, "the hostile run has ended", func() bool { return isClosed(hostile.ended) })
	after := second.use(t)
	w.nothingLeft()
	soak.Report(t, "figures", "beside %d hostile agents: most resident %.1f MiB, after a restart %.1f MiB", hostileAgents,
		float64(before.MostResident)/mebibyte, float64(after.MostResident)/mebibyte)
	before.fits(t)
	after.fits(t)
	if w.checked != 1 || len(w.wrong) > 0 {
		t.Errorf("%d runs were compared: %q", w.checked, w.wrong)
	}
}
