package nightly

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/controllers/benchmarkrun"
	"github.com/storagebench/storagebench/controllers/storagebenchmark"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/controlplane"
	"github.com/storagebench/storagebench/test/hang"
)

// api acts as an administrator. It is nil with -short.
var (
	api        client.WithWatch
	restConfig *rest.Config
	kinds      = controlplane.Scheme()
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.Main(m, func(administrator *rest.Config) (code int, err error) {
		restConfig = administrator
		restConfig.QPS, restConfig.Burst = 500, 1000
		if api, err = client.NewWithWatch(restConfig, client.Options{Scheme: kinds}); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

var errDied = errors.New("the operator died")

// world holds some namespaces, the operator, and the simulation of the runs.
type world struct {
	*testing.T
	random     *rand.Rand
	clock      *clocktesting.FakePassiveClock
	namespaces []string
	// conflicts reports whether two runs must not overlap.
	conflicts func(a, b *v1alpha1.BenchmarkRun) bool

	epoch  uint64
	master identity.Master
	// stopOperator ends the current operator. died is closed when an operator dies by itself.
	stopOperator func()
	died         chan struct{}
	deaths       int

	// What the watch has seen:
	mu              sync.Mutex
	seen            map[types.UID]string // resource versions
	live            map[string]*v1alpha1.BenchmarkRun
	created         map[string]map[string]bool
	begun           map[string]int
	turns           map[string]int // how many runs of a benchmark have started
	ended           int
	waited          map[string]bool
	scheduled       map[string][]string
	stopWatch       func()
	watching, plays sync.WaitGroup
}

func (w *world) namespace() string {
	w.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "nights-"}}
	must(w.T, api.Create(w.Context(), made))
	w.namespaces = append(w.namespaces, made.Name)
	return made.Name
}

// bound creates a claim and the volume that it is bound to.
func (w *world) bound(namespace, claim, handle string) {
	w.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	name, none := namespace+"-"+claim, ""
	made := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &none, VolumeName: name,
			Resources: corev1.VolumeResourceRequirements{Requests: size}}}
	must(w.T, api.Create(w.Context(), made))
	made.Status.Phase = corev1.ClaimBound
	must(w.T, api.Status().Update(w.Context(), made))
	must(w.T, api.Create(w.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{Capacity: size, AccessModes: modes, ClaimRef: &corev1.ObjectReference{Namespace: namespace, Name: claim, UID: made.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: handle}}}}))
}

// mortal returns clients that fail from the given write on. That write returns an error, too, but it takes effect if
// happens is true.
func (w *world) mortal(writes int, happens bool) client.NewClientFunc {
	var mu sync.Mutex
	left, died := writes, w.died
	write := func(do func() error) error {
		mu.Lock()
		left--
		now := left
		mu.Unlock()
		switch {
		case now < 0:
			return errDied
		case now > 0:
			return do()
		}
		if happens {
			_ = do() // the operator never sees the result
		}
		close(died)
		return errDied
	}
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		inner, err := client.NewWithWatch(config, options)
		if err != nil {
			return nil, err
		}
		return interceptor.NewClient(inner, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				return write(func() error { return c.Create(ctx, object, options...) })
			},
			Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
				return write(func() error { return c.Delete(ctx, object, options...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				return write(func() error { return c.Patch(ctx, object, patch, options...) })
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				return write(func() error { return c.SubResource(sub).Patch(ctx, object, patch, options...) })
			},
		}), nil
	}
}

// operate starts an operator that will die after a random number of writes.
func (w *world) operate() {
	w.Helper()
	if w.epoch++; w.epoch == 1 {
		var err error
		w.master, err = identity.NewMaster()
		must(w.T, err)
	}
	epoch := w.epoch
	w.died = make(chan struct{})
	namespaces := map[string]cache.Config{}
	for _, namespace := range w.namespaces {
		namespaces[namespace] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: kinds, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		NewClient: w.mortal(1+w.random.IntN(lives), w.random.IntN(2) == 0),
		Cache: cache.Options{DefaultNamespaces: namespaces, ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.BenchmarkRun{}: {Transform: storagebenchmark.TrimEndedRun}}},
	})
	must(w.T, err)
	must(w.T, storagebenchmark.Setup(mgr, storagebenchmark.Options{Clock: w.clock}))
	must(w.T, benchmarkrun.Setup(mgr, benchmarkrun.Options{
		Settings: objects.Settings{AgentImage: "operator:test", FioImage: "fio:test", IORImage: "ior:test", OperatorNamespace: "storagebench-system"},
		Master:   w.master, Epoch: func(context.Context) (uint64, error) { return epoch, nil },
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.stopOperator = func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the operator ended with %v", err)
		}
	}
}

func (w *world) stop() {
	w.Helper()
	if w.stopOperator != nil {
		w.stopOperator()
		w.stopOperator = nil
	}
}

// until waits for a condition. Whenever the operator dies, it starts another one.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	deadline := time.Now().Add(hang.Guard)
	for !holds() {
		select {
		case <-w.died:
			w.deaths++
			w.stop()
			w.operate()
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			for _, benchmark := range w.benchmarks() {
				w.Logf("%s: %+v", benchmark.Name, benchmark.Status)
			}
			for _, pod := range w.pods() {
				w.Logf("pod %s, made %s, phase %s, deleted %v, of %+v", pod.Name, pod.CreationTimestamp, pod.Status.Phase, pod.DeletionTimestamp, pod.OwnerReferences)
			}
			for _, namespace := range w.namespaces {
				for _, run := range w.runs(namespace) {
					w.Logf("run %s %s, ended %v, labels %v, finalizers %v", run.Name, run.UID, run.Status.EndTime, run.Labels, run.Finalizers)
				}
			}
			w.Fatalf("hung: not yet: %s, at %s", what, w.clock.Now())
		}
	}
}

func (w *world) benchmarks() []v1alpha1.StorageBenchmark {
	w.Helper()
	var all []v1alpha1.StorageBenchmark
	for _, namespace := range w.namespaces {
		var list v1alpha1.StorageBenchmarkList
		must(w.T, api.List(w.Context(), &list, client.InNamespace(namespace)))
		all = append(all, list.Items...)
	}
	return all
}

func (w *world) runs(namespace string) []v1alpha1.BenchmarkRun {
	w.Helper()
	var list v1alpha1.BenchmarkRunList
	must(w.T, api.List(w.Context(), &list, client.InNamespace(namespace)))
	return list.Items
}

// watch records every version of every run and benchmark, each kind in the order of its writes, and simulates the runs.
func (w *world) watch() {
	w.Helper()
	w.seen = map[types.UID]string{}
	w.live, w.begun, w.waited = map[string]*v1alpha1.BenchmarkRun{}, map[string]int{}, map[string]bool{}
	w.turns = map[string]int{}
	w.created, w.scheduled = map[string]map[string]bool{}, map[string][]string{}
	ctx, cancel := context.WithCancel(context.Background())
	w.stopWatch = cancel
	runs, err := api.Watch(ctx, &v1alpha1.BenchmarkRunList{})
	must(w.T, err)
	benchmarks, err := api.Watch(ctx, &v1alpha1.StorageBenchmarkList{})
	must(w.T, err)
	w.watching.Go(func() {
		for event := range runs.ResultChan() {
			if run, ok := event.Object.(*v1alpha1.BenchmarkRun); ok && slices.Contains(w.namespaces, run.Namespace) {
				w.sees(ctx, run)
			}
		}
	})
	w.watching.Go(func() {
		for event := range benchmarks.ResultChan() {
			benchmark, ok := event.Object.(*v1alpha1.StorageBenchmark)
			if !ok || !slices.Contains(w.namespaces, benchmark.Namespace) {
				continue
			}
			w.mu.Lock()
			w.seen[benchmark.UID] = benchmark.ResourceVersion
			if benchmark.Status.LastScheduleTime != nil {
				at := benchmark.Status.LastScheduleTime.UTC().Format(time.RFC3339)
				if known := w.scheduled[benchmark.Name]; len(known) == 0 || known[len(known)-1] != at {
					w.scheduled[benchmark.Name] = append(known, at)
				}
			}
			w.mu.Unlock()
		}
	})
	w.Cleanup(w.enough)
}

// enough ends the watch once it has seen all writes. There must be no more writers.
func (w *world) enough() {
	w.Helper()
	if w.stopWatch == nil {
		return
	}
	w.plays.Wait()
	for deadline := time.Now().Add(hang.Guard); !w.T.Failed() && !w.seenAll(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Error("hung: the watch has not delivered the current version of every object")
			break
		}
	}
	w.stopWatch()
	w.stopWatch = nil
	w.watching.Wait()
}

// seenAll reports whether the watch has delivered the current version of every run and benchmark.
func (w *world) seenAll() bool {
	w.Helper()
	now := map[types.UID]string{}
	for _, benchmark := range w.benchmarks() {
		now[benchmark.UID] = benchmark.ResourceVersion
	}
	for _, namespace := range w.namespaces {
		for _, run := range w.runs(namespace) {
			now[run.UID] = run.ResourceVersion
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, version := range now {
		if w.seen[uid] != version {
			return false
		}
	}
	return true
}

// sees checks one version of a run.
func (w *world) sees(ctx context.Context, run *v1alpha1.BenchmarkRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[run.UID] = run.ResourceVersion
	name := run.Spec.BenchmarkRef.Name
	if w.created[name] == nil {
		w.created[name] = map[string]bool{}
	}
	w.created[name][run.Name] = true
	if meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionWaiting) {
		w.waited[run.Name] = true
	}
	switch before := w.live[run.Name]; {
	case run.Status.EndTime != nil:
		if before != nil {
			delete(w.live, run.Name)
			w.ended++
		}
	case run.Status.StartTime != nil && before == nil:
		for _, other := range w.live {
			if w.conflicts(run, other) {
				w.Errorf("%s begins while %s is live", run.Name, other.Name)
			}
		}
		w.live[run.Name] = run
		w.begun[run.Name]++
		w.turns[name]++
		night, bad := w.turns[name], w.begun[run.Name] > 1 || w.turns[name]%5 == 3
		w.plays.Go(func() { w.play(ctx, run.DeepCopy(), night, bad) })
	}
}

// rivals are benchmarks of the same queue that are due at the same time.
var rivals = map[string]string{"first": "second", "second": "first"}

// contested reports whether the rival's run of the same night waits or has started. It is true for a benchmark without
// a rival.
func (w *world) contested(name string, night int) bool {
	rival := rivals[name]
	if rival == "" {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := 0
	for run := range w.created[rival] {
		if w.waited[run] || w.begun[run] > 0 {
			seen++
		}
	}
	return seen >= night
}

// play keeps a run live until its rival waits for its turn, and then ends it.
func (w *world) play(ctx context.Context, run *v1alpha1.BenchmarkRun, night int, bad bool) {
	for !w.contested(run.Spec.BenchmarkRef.Name, night) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	for ctx.Err() == nil {
		if bad {
			record.Fail(run, decide.Failure{Reason: v1alpha1.ReasonStepFailed, Message: "it was to fail"}, time.Now())
		} else {
			measured(run, time.Now())
		}
		record.Finished(run, nil, time.Now())
		if err := api.Status().Update(ctx, run); err == nil {
			return
		}
		if err := api.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil || run.Status.EndTime != nil {
			return
		}
	}
}

// measured gives a run the results of its steps.
func measured(run *v1alpha1.BenchmarkRun, now time.Time) {
	at := metav1.NewMicroTime(now)
	run.Status.Steps, run.Status.Phases = nil, nil
	for _, step := range run.Spec.Steps {
		run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: step.ID, Attempt: 1, State: v1alpha1.StepSucceeded, StartTime: &at, EndTime: &at})
		run.Status.Phases = append(run.Status.Phases, v1alpha1.PhaseResult{Name: step.Phase, Kind: step.Kind, Targets: []v1alpha1.TargetResult{{
			Target: step.Targets[0], Clients: step.Clients, Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationWrite, Bytes: 1 << 30,
				Operations: 16384, BytesPerSecond: new(int64(107_374_182)), IOPSMilli: new(int64(1_638_400))}}}}})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
