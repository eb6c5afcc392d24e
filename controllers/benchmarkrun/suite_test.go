package benchmarkrun

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/queue"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/controlplane"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/standin"
)

// All tests of this package share these variables. api is nil with -short.
var (
	api        client.Client
	restConfig *rest.Config
	kinds      = controlplane.Scheme()
	agentPath  string
	master     identity.Master
)

func TestMain(m *testing.M) {
	// The tests wait more than they compute. A -parallel flag overrides this.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	controlplane.Main(m, func(administrator *rest.Config) (int, error) { return runWith(m, administrator) })
}

func runWith(m *testing.M, administrator *rest.Config) (code int, err error) {
	restConfig = administrator
	restConfig.QPS, restConfig.Burst = 500, 1000
	if api, err = client.New(restConfig, client.Options{Scheme: kinds}); err != nil {
		return 1, err
	}
	folder, err := os.MkdirTemp("", "storagebench-agent-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	agentPath = filepath.Join(folder, "storagebench-agent")
	if output, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", agentPath, "../../cmd/agent").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the agent: %w\n%s", err, output)
	}
	if master, err = identity.NewMaster(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

const (
	// lossTimeout exceeds the guard, so that no agent is lost because the machine is busy. As a consequence, a test that
	// waits for the loss of an agent that never connects hangs.
	lossTimeout = 2 * hang.Guard
	lookEvery   = 100 * time.Millisecond
)

// testInstallation identifies the installation that the tests' operators belong to.
const testInstallation = "installation-1"

// world is a namespace with an operator and a stand-in kubelet.
type world struct {
	*testing.T

	namespace string
	// more lists further namespaces that the operator watches.
	more      []string
	directory string
	kubelet   *standin.Kubelet
	// epoch is the epoch of the newest operator. An older operator learns that it no longer leads when it asks for its
	// own.
	epoch atomic.Uint64
	// rest holds the operator's credentials; nil means an administrator's.
	rest *rest.Config
	// newClient creates the operator's client; nil means the default.
	newClient client.NewClientFunc
	// limits bounds the clients that the operator conducts at a time; by default they are unlimited.
	limits queue.Limits
	// prometheus configures the Prometheus for observations; nil means none.
	prometheus *prometheus.Config
	// catalog returns the documented limits; nil means the built-in ones.
	catalog func(context.Context) (*limits.Catalog, []string)
	// image is the image of the operator and of its agents.
	image string
	stop  func()
}

func newWorld(t *testing.T, environment ...string) *world {
	t.Helper()
	w := newQuietWorld(t)
	w.runPods(environment...)
	w.operate()
	t.Cleanup(func() { w.stop() })
	return w
}

// runPods starts the stand-in kubelet. The processes of pods inherit the given environment variables.
func (w *world) runPods(environment ...string) {
	w.Helper()
	w.kubelet = &standin.Kubelet{Client: client.NewNamespacedClient(api, w.namespace), Agent: agentPath, Directory: w.directory, Environment: environment}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.kubelet.Run(ctx) }()
	w.Cleanup(func() { cancel(); <-done })
}

// newQuietWorld returns a world without a kubelet and without an operator.
func newQuietWorld(t *testing.T) *world {
	t.Helper()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"}}
	must(t, api.Create(t.Context(), namespace))
	return &world{T: t, namespace: namespace.Name, directory: t.TempDir(), image: "operator:test"}
}

// operate starts an operator with the next epoch.
func (w *world) operate() {
	w.Helper()
	epoch := w.epoch.Add(1)
	logger := ctrl.Log
	skip := true
	mgr, err := ctrl.NewManager(cmp.Or(w.rest, restConfig), ctrl.Options{
		Scheme: kinds, Logger: logger, Metrics: metricsserver.Options{BindAddress: "0"},
		NewClient: w.newClient, Cache: cacheOf(append(w.more, w.namespace)...), Controller: config.Controller{SkipNameValidation: &skip},
	})
	must(w.T, err)
	must(w.T, Setup(mgr, Options{
		Settings: objects.Settings{AgentImage: w.image, FioImage: "fio:test", IORImage: "ior:test", OperatorNamespace: "storagebench-system"},
		Master:   master, Installation: testInstallation, LossTimeout: lossTimeout, Limits: w.limits,
		Epoch: func(context.Context) (uint64, error) {
			if w.epoch.Load() != epoch {
				return 0, leader.ErrNotLeader
			}
			return epoch, nil
		},
		SharedQueues: []string{"shared"},
		Prometheus:   w.prometheus,
		Catalog:      w.catalog,
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := mgr.Start(ctx); err != nil {
			w.Error(err)
		}
	}()
	w.stop = func() { cancel(); <-done }
}

// start creates a run of a benchmark, named run.
func (w *world) start(benchmark *builders.BenchmarkBuilder) *v1alpha1.BenchmarkRun {
	w.Helper()
	return w.startAs("run", benchmark)
}

// startAs is like start, but names the run and applies changes before it is created.
func (w *world) startAs(name string, benchmark *builders.BenchmarkBuilder, changes ...func(*v1alpha1.BenchmarkRun)) *v1alpha1.BenchmarkRun {
	w.Helper()
	spec := benchmark.Run()
	planned, problems := plan.Make(spec, 1)
	must(w.T, problems.ToAggregate())
	run := record.New(record.Identity{
		Name: name, Namespace: w.namespace, Hash: "hash", Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: "b", UID: "6b0f7f0c-0000-4000-8000-000000000001"},
	}, spec, planned)
	run.UID = ""
	for _, change := range changes {
		change(run)
	}
	must(w.T, api.Create(w.Context(), run))
	return run
}

// until waits until is returns true for the run.
func (w *world) until(run *v1alpha1.BenchmarkRun, what string, is func() bool) {
	w.Helper()
	w.wait("the run is not "+what, func() bool {
		must(w.T, api.Get(w.Context(), client.ObjectKeyFromObject(run), run))
		return is()
	}, func() {
		w.Logf("stage %s, message %q, steps %+v, conditions %+v", run.Status.Stage, run.Status.Message, run.Status.Steps, run.Status.Conditions)
	})
}

func (w *world) untilGone(object client.Object) {
	w.Helper()
	w.wait(object.GetName()+" is still there", func() bool { return w.gone(object) }, func() { w.Logf("%+v", object) })
}

func (w *world) gone(object client.Object) bool {
	return apierrors.IsNotFound(api.Get(w.Context(), client.ObjectKeyFromObject(object), object))
}

// wait waits until is returns true. On a timeout, it calls sendEvents and fails the test with the message not.
func (w *world) wait(not string, is func() bool, sendEvents ...func()) {
	w.Helper()
	for deadline := time.Now().Add(hang.Guard); !is(); time.Sleep(lookEvery) {
		if time.Now().After(deadline) {
			for _, one := range sendEvents {
				one()
			}
			if w.kubelet != nil {
				w.Log(w.kubelet.Processes())
			}
			w.Fatalf("hung: %s", not)
		}
	}
}

// nextSecond waits for the next second of the API server's clock, so that later objects have a later creation
// timestamp.
func (w *world) nextSecond() {
	w.Helper()
	created := func() time.Time {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "clock-"}}
		must(w.T, api.Create(w.Context(), probe, client.DryRunAll))
		return probe.CreationTimestamp.Time
	}
	first := created()
	w.wait("the clock of the API server stands still", func() bool { return created().After(first) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
