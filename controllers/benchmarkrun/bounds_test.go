package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/queue"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
)

// crowd returns a benchmark with many targets, each with many clients and its own claim.
func crowd(name string, targets int, clients int32) *builders.BenchmarkBuilder {
	made := builders.Benchmark("b").Clients(clients).StartTimeout("168h").Steady("write", "1m")
	for i := range targets {
		made.Target(fmt.Sprintf("t%d", i)).Mutate(func(r *v1alpha1.RunSpec) { r.Targets[i].Volumes[0].ClaimName = fmt.Sprintf("%s-%d", name, i) })
	}
	return made
}

// crowded returns a live run of a benchmark. It needs no API server.
func crowded(t *testing.T, name string, benchmark *builders.BenchmarkBuilder) *v1alpha1.BenchmarkRun {
	t.Helper()
	spec := benchmark.Run()
	planned, problems := plan.Make(spec, 1)
	must(t, problems.ToAggregate())
	run := record.New(record.Identity{Name: name, Namespace: "crowd", UID: types.UID("uid-" + name), Hash: "hash", Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: "b", UID: "uid-b"}}, spec, planned)
	record.Begin(run, time.Now())
	return run
}

// offline returns a Reconciler that uses a fake API server.
func offline(t *testing.T, funcs interceptor.Funcs) *Reconciler {
	t.Helper()
	types := apiruntime.NewScheme()
	must(t, scheme.AddToScheme(types))
	must(t, v1alpha1.AddToScheme(types))
	key, err := identity.NewMaster()
	must(t, err)
	made := fake.NewClientBuilder().WithScheme(types).WithInterceptorFuncs(funcs).Build()
	return &Reconciler{client: made, direct: made, sessions: newSessions(), admitted: admitted{runs: map[client.ObjectKey]queue.Run{}},
		options: Options{Master: key, LossTimeout: time.Hour,
			Epoch:   func(context.Context) (uint64, error) { return 1, nil },
			Catalog: func(context.Context) (*limits.Catalog, []string) { return nil, nil }}}
}

// resumed returns the session of a run. The session is closed when the test ends.
func (r *Reconciler) resumed(t *testing.T, run *v1alpha1.BenchmarkRun) *session {
	t.Helper()
	s, err := r.resume(t.Context(), run)
	must(t, err)
	t.Cleanup(func() { r.sessions.drop(client.ObjectKeyFromObject(run)) })
	return s
}

func heapBytes() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

// TestNoConnectionBeforeAnAddress checks that clients without pods need no connection, no goroutine and little memory.
// It resumes five runs of 16 targets with 1,000 clients each: more than the limit, but an API server may still hold
// such runs. It must not run in parallel with other tests.
func TestNoConnectionBeforeAnAddress(t *testing.T) {
	const runs, targets, clients = 5, 16, 1000
	r := offline(t, interceptor.Funcs{})
	goroutines, before := runtime.NumGoroutine(), heapBytes()
	for i := range runs {
		run := crowded(t, fmt.Sprintf("run-%d", i), crowd("claim", targets, 62))
		run.Spec.Run.Clients.Count = clients
		if _, err := r.resume(t.Context(), run); err == nil || !strings.Contains(err.Error(), "16000 clients in total, but the limit is 1000") {
			t.Errorf("before its first step it is conducted: %v", err)
		}
		// The run began before the limit existed.
		run.Status.Steps = []v1alpha1.StepStatus{{ID: run.Spec.Steps[0].ID, Attempt: 1}}
		if s := r.resumed(t, run); len(s.conductor.Clients()) != targets*clients {
			t.Fatalf("%d clients", len(s.conductor.Clients()))
		}
	}
	if more := runtime.NumGoroutine() - goroutines; more > 10*runs {
		t.Errorf("%d goroutines for clients without pods", more)
	}
	const each = 4 << 10 // a connection takes 9 KiB before it is dialed
	if grown := int64(heapBytes()) - int64(before); grown > runs*targets*clients*each {
		t.Errorf("%d bytes per client without a pod", grown/(runs*targets*clients))
	}
}

// TestOneConnectionPerAddress checks that an address is dialed once, no matter how often its pod is observed.
func TestOneConnectionPerAddress(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	run := crowded(t, "run", crowd("claim", 1, 3))
	s := r.resumed(t, run)
	m := s.members[s.order[1]]
	for range 2 {
		must(t, s.connect(m, "127.0.0.1:1"))
	}
	for _, key := range s.order {
		if connected := s.members[key].connected; connected != (key == s.order[1]) {
			t.Errorf("client %s: connected %t", key, connected)
		}
	}
	m.gone("the pod is gone")
	if facts := s.conductor.Clients(); facts[1].Connection != decide.Lost || facts[2].Connection != decide.Connecting || facts[1].Key != s.order[1] {
		t.Errorf("got %+v", facts)
	}
}

// TestPodWithoutAnAddress checks that a client is connected only once its pod has an address.
func TestPodWithoutAnAddress(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	run := crowded(t, "run", crowd("claim", 1, 1))
	s := r.resumed(t, run)
	m := s.members[s.order[0]]
	pod := &corev1.Pod{}
	pod.Name, pod.UID = objects.PodName(run, m.pod), "pod"
	for _, address := range []string{"", "127.0.0.1"} {
		pod.Status.PodIP = address
		must(t, r.look(t.Context(), run, s, m, map[string]*corev1.Pod{pod.Name: pod}))
		if m.connected != (address != "") {
			t.Errorf("address %q: connected %t", address, m.connected)
		}
	}
}

// TestCreatesPerReconcile checks that a reconcile creates a limited number of objects, and requests another reconcile
// until all exist.
func TestCreatesPerReconcile(t *testing.T) {
	var mu sync.Mutex
	created := 0
	r := offline(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
		mu.Lock()
		created++
		mu.Unlock()
		object.SetUID(types.UID("uid of " + object.GetName()))
		return c.Create(ctx, object, options...)
	}})
	run := crowded(t, "run", crowd("claim", 1, 100).Template(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")))
	s := r.resumed(t, run)
	s.claimed = &claimed{}                    // claims are inspected
	const most, all = 64, 1 + 100 + 100 + 100 // the NetworkPolicy, claims, pods, Secrets
	for passes := 1; ; passes++ {
		before := created
		more, err := r.populate(t.Context(), run, s, observation{})
		must(t, err)
		if made := created - before; made > most || made == 0 {
			t.Fatalf("pass %d makes %d objects, and may make %d", passes, made, most)
		}
		if more != (created < all) {
			t.Fatalf("after %d of %d objects there is more: %t", created, all, more)
		}
		if !more {
			break
		}
	}
	if more, err := r.populate(t.Context(), run, s, observation{}); more || err != nil || created != all {
		t.Errorf("after all %d objects %d were made, more: %t, %v", all, created, more, err)
	}
	var policies networkingv1.NetworkPolicyList
	var claims corev1.PersistentVolumeClaimList
	must(t, r.client.List(t.Context(), &policies))
	must(t, r.client.List(t.Context(), &claims))
	if len(policies.Items) != 1 || len(claims.Items) != 100 {
		t.Errorf("%d policies, %d claims", len(policies.Items), len(claims.Items))
	}
}

// TestRefusedCreatesWait checks that a reconcile tries to create only some of the pods if a quota refuses them, and
// leaves the others to a later reconcile.
func TestRefusedCreatesWait(t *testing.T) {
	var mu sync.Mutex
	tried := 0
	r := offline(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
		if _, is := object.(*corev1.Pod); !is {
			return c.Create(ctx, object, options...)
		}
		mu.Lock()
		defer mu.Unlock()
		tried++
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, object.GetName(), errors.New("exceeded quota"))
	}})
	run := crowded(t, "run", crowd("claim", 10, 100))
	s := r.resumed(t, run)
	s.claimed = &claimed{} // claims are inspected
	if more, err := r.populate(t.Context(), run, s, observation{}); more || err != nil || tried == 0 || tried > 64 {
		t.Errorf("%d pods were tried, more: %t, %v", tried, more, err)
	}
	if why := s.members[s.order[0]].why; !strings.Contains(why, "exceeded quota") {
		t.Errorf("client 0 is not there because: %q", why)
	}
}

// TestEventsAreReadOfSomePods checks that a run with many pending pods reads the events of only a few: reading those of
// all would leave other runs no requests.
func TestEventsAreReadOfSomePods(t *testing.T) {
	lists := 0
	r := offline(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		lists++
		return nil
	}})
	run := crowded(t, "run", crowd("claim", 1, 100))
	s := r.resumed(t, run)
	pods := map[string]*corev1.Pod{}
	for i := range s.order {
		pods[fmt.Sprintf("run-t0-%d-1", i)] = &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}
	}
	clients := s.conductor.Clients()
	r.explain(t.Context(), run, s, pods, clients)
	if lists == 0 || lists > 8 {
		t.Errorf("events were read %d times", lists)
	}
	for _, one := range clients {
		if one.Message != "the pod is Pending and not yet scheduled to a node" {
			t.Errorf("client %s: %q", one.Key, one.Message)
		}
	}
}

// TestRetriesAreFrequent checks that a reconcile is retried within one beat, no matter how often it has failed.
func TestRetriesAreFrequent(t *testing.T) {
	limiter := retries()
	for tries := range 30 {
		if wait := limiter.When(ctrl.Request{}); wait <= 0 || wait > beat {
			t.Fatalf("after %d failures, the next try is in %s", tries+1, wait)
		}
	}
}

// TestLostClientTidies checks that the data of an unreachable client counts as removed once its pod has succeeded: its
// agent removes the data before it exits.
func TestLostClientTidies(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	run := crowded(t, "run", crowd("claim", 1, 1))
	s := r.resumed(t, run)
	m := s.members[s.order[0]]
	m.uid = "pod"
	m.gone("unreachable for 1m0s")
	pod := &corev1.Pod{}
	pod.Name, pod.UID, pod.Status.Phase = objects.PodName(run, m.pod), m.uid, corev1.PodSucceeded
	must(t, r.look(t.Context(), run, s, m, map[string]*corev1.Pod{pod.Name: pod}))
	if !m.lost || !m.tidy {
		t.Errorf("lost: %t, tidy: %t", m.lost, m.tidy)
	}
}

// TestClientEndsBesideASidecar checks that a client counts as lost when its agent ends, even if a sidecar keeps the pod
// running. Without a sidecar, the pod itself ends soon, and its final status says more.
func TestClientEndsBesideASidecar(t *testing.T) {
	killed := corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	for name, c := range map[string]struct {
		exit  corev1.ContainerStateTerminated
		alone bool
		want  string
		tidy  bool
	}{
		"killed": {exit: killed, want: "pod run-t0-0-1 ended: container client: exit code 137 (OOMKilled)"},
		"exits": {exit: corev1.ContainerStateTerminated{Reason: "Completed"},
			want: "pod run-t0-0-1 ended: the agent exited", tidy: true},
		"killed, alone": {exit: killed, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := offline(t, interceptor.Funcs{})
			run := crowded(t, "run", crowd("claim", 1, 1))
			s := r.resumed(t, run)
			m := s.members[s.order[0]]
			pod := &corev1.Pod{}
			pod.Name, pod.UID, pod.Status.Phase = objects.PodName(run, m.pod), "pod", corev1.PodRunning
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{
				{Name: "client", State: corev1.ContainerState{Terminated: &c.exit}},
				{Name: "log-shipper", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			}
			if c.alone {
				pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:1]
			}
			must(t, r.look(t.Context(), run, s, m, map[string]*corev1.Pod{pod.Name: pod}))
			got := s.conductor.Clients()[0].Message
			if m.lost != (c.want != "") || m.lost && got != c.want || m.tidy != c.tidy {
				t.Errorf("lost: %t, tidy: %t, %q, want %q", m.lost, m.tidy, got, c.want)
			}
		})
	}
}
