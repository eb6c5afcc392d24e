package scale

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/controlplane"
	"github.com/storagebench/storagebench/test/hang"
)

const systemNamespace = "storagebench-system"

// maxClients is the operator's limit for the clients of all live runs in these tests.
const maxClients = 20_000

// addresses is the network of the pods' addresses: a part of the loopback network that is otherwise unused.
const addresses = "127.96.0.0/12"

//go:embed testdata/stages.yaml
var stages []byte

var (
	// server is the configuration for connecting to this package's API server. It is nil with -short.
	server *rest.Config
	// operatorPath and kwokPath are the paths of the programs.
	operatorPath, kwokPath string

	compared = flag.String("scale.operator", "", "`path` of another build of the operator, to compare")
)

// prepare builds the programs that the tests run.
func prepare(ctx context.Context, folder string) error {
	programs, err := binaries.Build(ctx, os.Stderr, binaries.Kwok)
	if err != nil {
		return err
	}
	kwokPath, operatorPath = programs[binaries.Kwok], filepath.Join(folder, "operator")
	if *compared != "" {
		operatorPath = *compared
		return nil
	}
	return binaries.BuildOwn(ctx, "./cmd/operator", operatorPath)
}

// world is a cluster: the API server, kwok's nodes, and the agents of all pods. It starts without an operator.
type world struct {
	*testing.T

	api        client.Client
	kubeconfig string
	fleet      *fleet
	operator   atomic.Pointer[operator]
	// perNamespace is the operator's limit for the clients of a namespace.
	perNamespace int

	mu sync.Mutex
	// benchmarks holds the benchmarks that this test has created.
	benchmarks map[types.NamespacedName]*state
	// ages holds the ages of live figures in a status when they were replaced.
	ages []time.Duration
	// wrong lists wrong counts. checked is the number of compared runs, and samples the number of their samples.
	wrong   []string
	checked int
	samples uint64
}

// state describes a benchmark and its only run.
type state struct {
	clients int
	run     types.NamespacedName
	live    *v1alpha1.LiveFigures
	// loading is closed when the last step runs, and ended when the run has ended. failure says why the run is not
	// complete.
	loading, ended chan struct{}
	failure        string
	// figures holds the counts in the run's results by phase and operation.
	figures map[loadOf]measure.Counter
}

// newWorld starts everything that a test needs, except for an operator.
func newWorld(t *testing.T) *world {
	t.Helper()
	if server == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	config := rest.CopyConfig(server)
	config.QPS = -1 // All pods of the cluster share this client.
	api, err := client.New(config, client.Options{Scheme: controlplane.Scheme()})
	must(t, err)
	folder := t.TempDir()
	w := &world{T: t, api: api, kubeconfig: filepath.Join(folder, "kubeconfig"), perNamespace: maxClients,
		benchmarks: map[types.NamespacedName]*state{}}
	must(t, writeKubeconfig(server, w.kubeconfig))
	must(t, os.WriteFile(filepath.Join(folder, "stages.yaml"), stages, 0o600))
	w.fleet = &fleet{api: api, folder: t.TempDir(), hostile: func(string) bool { return false },
		pods: map[types.UID]*member{}, runs: map[string]*ledger{},
		failed: func(err error) { t.Error(err) }}
	for i := range nodes {
		w.ensure(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}})
	}
	w.namespace(systemNamespace)
	run(t, kwokPath, nil, "--kubeconfig="+w.kubeconfig, "--config="+filepath.Join(folder, "stages.yaml"), "--manage-all-nodes=true",
		"--cidr="+addresses, "--node-ip=127.0.0.1")
	w.watch(config)
	w.check()
	return w
}

func (w *world) ensure(object client.Object) {
	w.Helper()
	if err := w.api.Create(context.Background(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
}

func (w *world) namespace(name string) {
	w.Helper()
	w.ensure(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// watch watches pods and runs until the test ends.
func (w *world) watch(config *rest.Config) {
	w.Helper()
	ofRuns, err := labels.NewRequirement(v1alpha1.LabelRun, selection.Exists, nil)
	must(w, err)
	shown, err := cache.New(config, cache.Options{Scheme: controlplane.Scheme(), DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:            {Label: labels.NewSelector().Add(*ofRuns)},
			&v1alpha1.BenchmarkRun{}: {Transform: forget},
		}})
	must(w, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := shown.Start(ctx); err != nil {
			w.Error(err)
		}
	}()
	w.Cleanup(func() {
		cancel()
		<-ended
		w.fleet.all.Wait()
	})
	must(w, w.fleet.watch(ctx, shown))
	informer, err := shown.GetInformer(ctx, &v1alpha1.BenchmarkRun{})
	must(w, err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: w.see, UpdateFunc: func(_, object any) { w.see(object) },
	})
	must(w, err)
	if !shown.WaitForCacheSync(ctx) {
		w.Fatal("the watch of pods and runs has ended")
	}
}

// forget removes the parts of a run that this package does not read.
func forget(object any) (any, error) {
	if run, is := object.(*v1alpha1.BenchmarkRun); is {
		run.Spec.Run, run.Spec.Steps, run.ManagedFields = v1alpha1.RunSpec{}, nil, nil
	}
	return object, nil
}

// see updates the state of a benchmark from its run.
func (w *world) see(object any) {
	run, ok := object.(*v1alpha1.BenchmarkRun)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.benchmarks[types.NamespacedName{Namespace: run.Namespace, Name: run.Spec.BenchmarkRef.Name}]
	if known == nil {
		return
	}
	known.run = client.ObjectKeyFromObject(run)
	before, now := known.live, run.Status.Live
	if before != nil && now != nil && before.Step == now.Step && now.Time.After(before.Time.Time) {
		w.ages = append(w.ages, time.Since(before.Time.Time))
	}
	known.live = now
	if now != nil && phaseOf(now.Step) == loadPhase {
		shut(known.loading)
	}
	if run.Status.EndTime == nil || isClosed(known.ended) {
		return
	}
	if !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
		known.failure = fmt.Sprintf("run %s is not complete: %+v", run.Name, run.Status.Conditions)
	}
	known.figures = figures(run)
	shut(known.loading)
	close(known.ended)
}

func figures(run *v1alpha1.BenchmarkRun) map[loadOf]measure.Counter {
	made := map[loadOf]measure.Counter{}
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			for _, one := range target.Operations {
				operation, err := measure.ParseOperation(string(one.Operation))
				if err == nil {
					made[loadOf{phase.Name, operation}] = measure.Counter{Bytes: uint64(one.Bytes), Operations: uint64(one.Operations)}
				}
			}
		}
	}
	return made
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

func shut(channel chan struct{}) {
	if !isClosed(channel) {
		close(channel)
	}
}

// loadPhase is the name of the measured phase of all benchmarks.
const loadPhase = "load"

// benchmark creates a benchmark with a bound claim, and returns its state.
func (w *world) benchmark(
	namespace, name, claim string, clients int32, length time.Duration, change ...func(*builders.BenchmarkBuilder),
) *state {
	w.Helper()
	w.namespace(namespace)
	w.claim(namespace, claim)
	builder := builders.Benchmark(name).Target("data").Clients(clients).Workload(builders.Fio().ReadPercent(50).BlockSize("16Ki")).
		Prepare("layout").Steady(loadPhase, v1alpha1.Duration(length.String())).
		Mutate(func(run *v1alpha1.RunSpec) { run.Targets[0].Volumes[0].ClaimName = claim })
	for _, one := range change {
		one(builder)
	}
	made := builder.Obj()
	made.Namespace = namespace
	known := &state{clients: int(clients), loading: make(chan struct{}), ended: make(chan struct{})}
	w.mu.Lock()
	w.benchmarks[client.ObjectKeyFromObject(made)] = known
	w.mu.Unlock()
	must(w, w.api.Create(context.Background(), made))
	return known
}

// claim creates a bound claim with its volume, unless the claim exists.
func (w *world) claim(namespace, name string) {
	w.Helper()
	ctx := context.Background()
	class := ""
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")}
	shared := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: shared, StorageClassName: &class, VolumeName: namespace + "-" + name,
			Resources: corev1.VolumeResourceRequirements{Requests: size}}}
	err := w.api.Create(ctx, claim)
	if apierrors.IsAlreadyExists(err) {
		return
	}
	must(w, err)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: shared,
		ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name, UID: claim.UID},
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			NFS: &corev1.NFSVolumeSource{Server: "127.0.0.1", Path: "/" + claim.Spec.VolumeName}}}}
	must(w, w.api.Create(ctx, volume))
	volume.Status.Phase = corev1.VolumeBound
	must(w, w.api.Status().Update(ctx, volume))
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: shared, Capacity: size}
	must(w, w.api.Status().Update(ctx, claim))
}

// checkInterval is the interval at which the test looks for runs whose agents all wait to finish.
const checkInterval = time.Second

// check compares the counts of runs until the test ends.
func (w *world) check() {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(checkInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				w.compare()
			case <-over:
				return
			}
		}
	}()
	w.Cleanup(func() {
		close(over)
		<-ended
	})
}

// compare compares the counts of all runs whose agents wait to finish, and lets the agents finish.
func (w *world) compare() {
	told := map[*ledger]tally{}
	for _, one := range w.fleet.ledgers() {
		if isClosed(one.released) {
			continue
		}
		w.mu.Lock()
		known := w.benchmarks[types.NamespacedName{Namespace: one.namespace, Name: one.benchmark}]
		w.mu.Unlock()
		if known == nil {
			continue
		}
		if counted, held := one.held(known.clients); held {
			told[one] = counted
		}
	}
	operator := w.operator.Load()
	if len(told) == 0 || operator == nil {
		return
	}
	points, err := get("http://" + operator.metrics + "/metrics")
	if err != nil {
		return // The operator is restarting; the next call retries.
	}
	counted := tallies(points)
	for one, sent := range told {
		got := counted[types.NamespacedName{Namespace: one.namespace, Name: one.run}]
		if got == nil {
			continue // The operator was restarted and is still replaying the agents' logs.
		}
		w.mu.Lock()
		if why := sent.difference(got.tally); why != "" || got.lost > 0 {
			w.wrong = append(w.wrong, fmt.Sprintf("run %s/%s: %d s lost; %s", one.namespace, one.run, got.lost, why))
		}
		w.checked++
		w.samples += sent.samples
		w.mu.Unlock()
		close(one.released)
	}
}

// await waits until the run of a benchmark has ended.
func (w *world) await(known *state) {
	w.Helper()
	hang.Until(w, "the run has ended", func() bool { return isClosed(known.ended) })
	if known.failure != "" {
		w.Error(known.failure)
	}
}

// resultsOf compares the counts in a run's results with those that its agents have measured.
func (w *world) resultsOf(known *state) {
	w.Helper()
	for _, one := range w.fleet.ledgers() {
		if (types.NamespacedName{Namespace: one.namespace, Name: one.run}) != known.run {
			continue
		}
		for key, counter := range one.measured {
			if key.phase == loadPhase && known.figures[key] != counter {
				w.Errorf("run %s: the result has %+v of %s, its agents have measured %+v", one.run, known.figures[key], key.operation, counter)
			}
		}
		return
	}
	w.Errorf("run %s had no agent", known.run)
}

// nothingLeft waits until no pod, Secret or agent of the runs is left.
func (w *world) nothingLeft() {
	w.Helper()
	w.mu.Lock()
	spaces := map[string]bool{}
	for key := range w.benchmarks {
		spaces[key.Namespace] = true
	}
	w.mu.Unlock()
	hang.Until(w, "pods, Secrets and agents are gone", func() bool {
		for namespace := range spaces {
			for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.SecretList{}} {
				must(w, w.api.List(context.Background(), list, client.InNamespace(namespace)))
				if meta.LenList(list) > 0 {
					return false
				}
			}
		}
		return w.fleet.agents.Load() == 0
	})
}

// received holds the operator's counts of a live run.
type received struct {
	tally

	// lost is the number of seconds without a sample.
	lost uint64
}

// tallies returns the operator's counters of live runs.
func tallies(points []point) map[types.NamespacedName]*received {
	all := map[types.NamespacedName]*received{}
	for _, one := range points {
		key := types.NamespacedName{Namespace: one.labels["namespace"], Name: one.labels["run"]}
		count := uint64(one.value)
		of := func() *received {
			if all[key] == nil {
				all[key] = &received{tally: tally{loads: map[loadOf]measure.Counter{}}}
			}
			return all[key]
		}
		operation, _ := measure.ParseOperation(one.labels["operation"])
		load := loadOf{one.labels["phase"], operation}
		switch one.name {
		case "storagebench_run_samples_total":
			of().samples += count
		case "storagebench_run_samples_lost_total":
			of().lost += count
		case "storagebench_run_bytes_total":
			add(of().loads, load, measure.Counter{Bytes: count})
		case "storagebench_run_operations_total":
			add(of().loads, load, measure.Counter{Operations: count})
		}
	}
	return all
}
