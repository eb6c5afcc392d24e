package storagebenchmark

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/test/hang"
)

// controllerUser has only the rights of the markers in setup.go.
const controllerUser = "storagebenchmark-controller"

var marker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=(\S*),resources=(\S+),verbs=(\S+)$`)

func grantRights(ctx context.Context) error {
	source, err := os.ReadFile("setup.go")
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: controllerUser}}
	for _, found := range marker.FindAllStringSubmatch(string(source), -1) {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{strings.Trim(found[1], `"`)},
			Resources: strings.Split(found[2], ";"), Verbs: strings.Split(found[3], ";")})
	}
	if len(role.Rules) == 0 {
		return fmt.Errorf("setup.go grants nothing")
	}
	if err := cluster.Create(ctx, role); err != nil {
		return err
	}
	return cluster.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: controllerUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: controllerUser},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: controllerUser}},
	})
}

// bed is a namespace of a real API server, in which a test acts as a user and in place of the benchmarkrun controller.
type bed struct {
	*testing.T
	namespace string
	catalog   func(context.Context) (*limits.Catalog, []string)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	if cluster == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := cluster.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return &bed{T: t, namespace: namespace.Name}
}

// operator starts the controller for the test's namespace, with only the controller's own rights. It runs until stop is
// called or the test ends.
func (b *bed) operator(newClient client.NewClientFunc) (stop func()) {
	b.Helper()
	as := rest.CopyConfig(clusterConfig)
	as.Impersonate = rest.ImpersonationConfig{UserName: controllerUser}
	manager, err := ctrl.NewManager(as, ctrl.Options{
		Scheme:    fullScheme,
		Metrics:   metricsserver.Options{BindAddress: "0"},
		NewClient: newClient,
		// All tests use the same controller name.
		Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{b.namespace: {}},
			ByObject: map[client.Object]cache.ByObject{
				&v1alpha1.BenchmarkRun{}:        {Transform: TrimEndedRun},
				&corev1.PersistentVolumeClaim{}: {Transform: TrimClaim}},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := Setup(manager, Options{Catalog: b.catalog}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("the operator ended with %v", err)
		}
	}
	b.Cleanup(stop)
	return stop
}

func (b *bed) put(object client.Object) {
	b.Helper()
	object.SetNamespace(b.namespace)
	object.SetUID("")
	object.SetGeneration(0)
	if err := cluster.Create(b.Context(), object); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) benchmark() *v1alpha1.StorageBenchmark {
	b.Helper()
	benchmark := &v1alpha1.StorageBenchmark{}
	if err := cluster.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: "bench"}, benchmark); err != nil {
		b.Fatal(err)
	}
	checkBenchmark(b, benchmark)
	return benchmark
}

// edit changes the benchmark even if other writes happen at the same time.
func (b *bed) edit(change func(*v1alpha1.StorageBenchmark)) {
	b.Helper()
	benchmark := b.benchmark()
	before := benchmark.DeepCopy()
	change(benchmark)
	if err := cluster.Patch(b.Context(), benchmark, client.MergeFrom(before)); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) runs() []v1alpha1.BenchmarkRun {
	b.Helper()
	list := &v1alpha1.BenchmarkRunList{}
	if err := cluster.List(b.Context(), list, client.InNamespace(b.namespace)); err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func (b *bed) until(what string, holds func(*v1alpha1.StorageBenchmark) bool) *v1alpha1.StorageBenchmark {
	b.Helper()
	deadline := time.Now().Add(hang.Guard)
	for {
		benchmark := b.benchmark()
		if holds(benchmark) {
			return benchmark
		}
		if time.Now().After(deadline) {
			b.Fatalf("timeout while waiting for %s: %s", what, stateLine(b, benchmark))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (b *bed) live() *v1alpha1.BenchmarkRun {
	b.Helper()
	benchmark := b.until("a live run", func(benchmark *v1alpha1.StorageBenchmark) bool {
		return isTrue(benchmark.Status.Conditions, v1alpha1.ConditionRunning)
	})
	run := &v1alpha1.BenchmarkRun{}
	if err := cluster.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: benchmark.Status.ActiveRun.Name}, run); err != nil {
		b.Fatal(err)
	}
	return run
}

// ends ends the live run and waits for its verdict.
func (b *bed) ends(end func(*v1alpha1.BenchmarkRun, time.Time)) *v1alpha1.StorageBenchmark {
	b.Helper()
	run := b.finish(end)
	return b.until("the verdict on "+run.Name, func(benchmark *v1alpha1.StorageBenchmark) bool {
		return benchmark.Status.LastRun != nil && benchmark.Status.LastRun.Name == run.Name
	})
}

// loses ends the live run in a way that gives no verdict, and waits until the benchmark records that.
func (b *bed) loses(end func(*v1alpha1.BenchmarkRun, time.Time)) {
	b.Helper()
	run := b.finish(end)
	b.until("the loss of "+run.Name, func(benchmark *v1alpha1.StorageBenchmark) bool {
		return benchmark.Status.LastReplacedRun == run.Name
	})
}

func (b *bed) finish(end func(*v1alpha1.BenchmarkRun, time.Time)) *v1alpha1.BenchmarkRun {
	b.Helper()
	run := b.live()
	end(run, time.Now())
	if err := cluster.Status().Update(b.Context(), run); err != nil {
		b.Fatal(err)
	}
	return run
}

// steady waits until the operator has handled all current objects. It edits a field of the spec without an effect
// several times, and waits until the operator has observed each edit: by then, it has finished its earlier work.
func (b *bed) steady() *v1alpha1.StorageBenchmark {
	b.Helper()
	_, kept := b.benchmark().Spec.HistoryLimits()
	limit := int32(kept)
	var seen *v1alpha1.StorageBenchmark
	for _, next := range []int32{limit + 1, limit, limit + 1, limit} {
		b.edit(func(benchmark *v1alpha1.StorageBenchmark) { benchmark.Spec.FailedHistoryLimit = &next })
		seen = b.until("calm", func(benchmark *v1alpha1.StorageBenchmark) bool {
			return benchmark.Status.ObservedGeneration == benchmark.Generation
		})
	}
	return seen
}

// kstatus returns the kstatus of the benchmark that the API server has stored.
func (b *bed) kstatus() string {
	b.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.StorageBenchmarkKind))
	if err := cluster.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: "bench"}, object); err != nil {
		b.Fatal(err)
	}
	return computed(b, object)
}
