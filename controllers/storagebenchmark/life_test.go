package storagebenchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/hang"
)

// TestStopsTheRunThatItSaw checks that stopping a run does not stop a newer run with the same name.
func TestStopsTheRunThatItSaw(t *testing.T) {
	b := newBed(t)
	b.put(claimNamed("data"))
	b.put(profileNamed("heavy", builders.Fio()))
	b.put(benchWith(withProfile))
	stopOperator := b.operator(nil)
	run := b.live()
	stopOperator()
	r := &reconciler{client: cluster}
	newer := run.DeepCopy()
	newer.ResourceVersion, newer.UID = "", ""
	if err := cluster.Delete(t.Context(), run.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Create(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	if out := r.stop(t.Context(), run); out.err != nil || !out.again || toldToStop(&b.runs()[0]) {
		t.Errorf("got %+v (%v), and the newer run has the annotations %v", out, out.err, b.runs()[0].Annotations)
	}
	if out := r.stop(t.Context(), newer); out.err != nil || out.again || !toldToStop(&b.runs()[0]) {
		t.Errorf("got %+v (%v), and the run has the annotations %v", out, out.err, b.runs()[0].Annotations)
	}
}

// TestRunIsFrozen checks that a run is complete and owned by its benchmark, and that later edits of the profile affect
// only later runs.
func TestRunIsFrozen(t *testing.T) {
	b := newBed(t)
	b.put(claimNamed("data"))
	profile := profileNamed("heavy", builders.Fio())
	b.put(profile)
	b.put(benchWith(withProfile))
	b.operator(nil)
	run := b.live()
	benchmark := b.benchmark()
	if !metav1.IsControlledBy(run, benchmark) {
		t.Errorf("the run is owned by %+v", run.OwnerReferences)
	}
	if run.Labels[v1alpha1.LabelBenchmark] != "bench" || run.Spec.BenchmarkRef.UID != string(benchmark.UID) {
		t.Errorf("the run does not name its benchmark: %+v %+v", run.Labels, run.Spec.BenchmarkRef)
	}
	if run.Spec.Hash != benchmark.Status.ActiveRun.Hash || string(run.UID) != benchmark.Status.ActiveRun.UID || run.Spec.Seed == 0 {
		t.Errorf("hash %s, uid %s, seed %d; status has %+v", run.Spec.Hash, run.UID, run.Spec.Seed, benchmark.Status.ActiveRun)
	}
	if workload := run.Spec.Run.Phases[0].Workload; workload.ProfileRef != nil || workload.Fio == nil {
		t.Errorf("the reference is not resolved: %+v", workload)
	}
	if len(run.Spec.Steps) != 1 || run.Spec.Steps[0].Phase != "write" {
		t.Errorf("the steps are %+v", run.Spec.Steps)
	}
	b.ends(good)
	profile.Spec.Fio.QueueDepth = new(int32(32))
	if err := cluster.Update(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	if ready := b.steady(); len(b.runs()) != 1 || !isTrue(ready.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("an edit of the profile has started a run: %s", stateLine(t, ready))
	}
	b.edit(request1("v1"))
	if again := b.live(); *again.Spec.Run.Phases[0].Workload.Fio.QueueDepth != 32 || again.Spec.Hash != run.Spec.Hash || again.Spec.Seed == run.Spec.Seed {
		t.Errorf("the requested run must have the newest profile, the same hash and another seed: %+v", again.Spec)
	}
}

// TestReactsToWhatAppears checks that a run starts as soon as the missing object appears, without polling.
func TestReactsToWhatAppears(t *testing.T) {
	clusterProfile := func() client.Object {
		return &v1alpha1.ClusterWorkloadProfile{ObjectMeta: metav1.ObjectMeta{Name: "heavy"},
			Spec: v1alpha1.WorkloadProfileSpec{Engine: builders.Fio().Engine()}}
	}
	inCluster := builders.Benchmark("bench").Target("data").Steady("write", "10s").WithProfile(v1alpha1.ClusterWorkloadProfileKind, "heavy")
	for _, test := range []struct {
		name      string
		benchmark *builders.BenchmarkBuilder
		there     []client.Object
		reason    string
		appears   func(*bed)
	}{
		{"a claim", builders.Benchmark("bench").Target("data").Steady("write", "10s"), nil, v1alpha1.ReasonClaimNotFound,
			func(b *bed) { b.put(claimNamed("data")) }},
		{"a profile", withProfile, []client.Object{claimNamed("data")}, v1alpha1.ReasonProfileNotFound,
			func(b *bed) { b.put(profileNamed("heavy", builders.Fio())) }},
		{"a cluster profile", inCluster, []client.Object{claimNamed("data"), profileNamed("heavy", builders.Fio())}, v1alpha1.ReasonProfileNotFound,
			func(b *bed) {
				profile := clusterProfile()
				if err := cluster.Create(b.Context(), profile); err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = cluster.Delete(context.Background(), profile) })
			}},
		{"a correction of a profile", withProfile, []client.Object{claimNamed("data"), profileNamed("heavy", builders.Fio().Reads())}, v1alpha1.ReasonInvalidWorkload,
			func(b *bed) {
				profile := &v1alpha1.WorkloadProfile{}
				if err := cluster.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: "heavy"}, profile); err != nil {
					b.Fatal(err)
				}
				profile.Spec.Fio.ReadPercent = new(int32(0))
				if err := cluster.Update(b.Context(), profile); err != nil {
					b.Fatal(err)
				}
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			for _, object := range test.there {
				b.put(object)
			}
			b.put(benchWith(test.benchmark))
			b.operator(nil)
			b.until(test.reason, func(benchmark *v1alpha1.StorageBenchmark) bool {
				ready := find(benchmark.Status.Conditions, v1alpha1.ConditionReady)
				return ready != nil && ready.Reason == test.reason && strings.Contains(ready.Message, "spec.run.")
			})
			if benchmark := b.steady(); benchmark.Status.ActiveRun != nil || len(b.runs()) != 0 {
				t.Errorf("a run exists before its references do: %s", stateLine(t, benchmark))
			}
			test.appears(b)
			b.live()
		})
	}
}

// TestClaimThatIsBeingDeleted checks that a claim that is being deleted counts as missing.
func TestClaimThatIsBeingDeleted(t *testing.T) {
	b := newBed(t)
	claim := claimNamed("data")
	claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	b.put(claim)
	if err := cluster.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.put(bench())
	b.operator(nil)
	b.until("ClaimNotFound", func(benchmark *v1alpha1.StorageBenchmark) bool {
		ready := find(benchmark.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == v1alpha1.ReasonClaimNotFound && strings.Contains(ready.Message, "is being deleted")
	})
}

func TestEventsAndFigures(t *testing.T) {
	b := newBed(t)
	named := bench()
	named.Spec.Headline = "write"
	b.put(named)
	b.operator(nil)
	b.until("a missing claim", func(benchmark *v1alpha1.StorageBenchmark) bool { return len(benchmark.Status.Conditions) > 0 })
	b.put(claimNamed("data"))
	b.ends(good)
	b.edit(request1("v1"))
	benchmark := b.ends(invalid)
	if display := benchmark.Status.Display; display == nil || display.Result != "107.4 MB/s" || display.Figure != "write: write" || display.P99 != "9.00 ms" {
		t.Errorf("display is %+v", display)
	}
	for _, run := range b.runs() {
		if run.Spec.Headline != "write" {
			t.Errorf("the headline of run %s is of phase %q", run.Name, run.Spec.Headline)
		}
	}
	want := []v1alpha1.Headline{{Phase: "write", Target: "data", Operation: v1alpha1.OperationWrite,
		BytesPerSecond: new(int64(107_374_182)), IOPSMilli: new(int64(1_638_400)),
		P99Nanoseconds: new(int64(9_000_000))}}
	if diff := cmp.Diff(want, benchmark.Status.Headlines); diff != "" {
		t.Errorf("headlines (-want +got):\n%s", diff)
	}
	if benchmark.Status.LastHandledRequest != "v1" {
		t.Errorf("lastHandledRequest is %q", benchmark.Status.LastHandledRequest)
	}
	wanted := []string{v1alpha1.EventReferenceMissing, v1alpha1.EventRunCreated, v1alpha1.EventRunComplete, v1alpha1.EventRunCreated, v1alpha1.EventRunInvalid}
	slices.Sort(wanted)
	b.until("events", func(benchmark *v1alpha1.StorageBenchmark) bool {
		list := &eventsv1.EventList{}
		if err := cluster.List(b.Context(), list, client.InNamespace(b.namespace)); err != nil {
			b.Fatal(err)
		}
		var got []string
		for _, event := range list.Items {
			if event.Regarding.UID == benchmark.UID && event.ReportingController == Name {
				got = append(got, event.Reason)
			}
		}
		slices.Sort(got)
		return slices.Equal(got, wanted)
	})
}

func TestHistoryIsKeptShort(t *testing.T) {
	b := newBed(t)
	b.put(claimNamed("data"))
	benchmark := bench()
	benchmark.Spec.HistoryLimit, benchmark.Spec.FailedHistoryLimit = new(int32(2)), new(int32(0))
	b.put(benchmark)
	b.operator(nil)
	b.ends(good)
	for i, end := range []func(*v1alpha1.BenchmarkRun, time.Time){failed, good, good, failed} {
		b.edit(request1(fmt.Sprint(i)))
		b.ends(end)
	}
	b.until("pruning", func(*v1alpha1.StorageBenchmark) bool { return len(b.runs()) == 3 })
	last := b.steady().Status.LastRun
	var complete, others []string
	for _, run := range b.runs() {
		if isTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
			complete = append(complete, run.Name)
		} else {
			others = append(others, run.Name)
		}
	}
	if len(complete) != 2 || len(others) != 1 || others[0] != last.Name {
		t.Errorf("kept are %v and %v; the newest judged is %s", complete, others, last.Name)
	}
}

// TestRefusedCreationIsToldAndTriedAgain checks that the Ready condition quotes the admission policy that refuses the
// run, and that the run starts once the policy allows it.
func TestRefusedCreationIsToldAndTriedAgain(t *testing.T) {
	b := newBed(t)
	name := b.namespace
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: new(admissionv1.Fail),
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.Group}, APIVersions: []string{"*"}, Resources: []string{"benchmarkruns"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: "request.namespace != '" + name + "'", Message: "no load on Fridays"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	for _, object := range []client.Object{policy, binding} {
		if err := cluster.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cluster.Delete(context.Background(), object) })
	}
	b.put(claimNamed("data"))
	deadline := time.Now().Add(hang.Guard)
	for {
		if err := cluster.Create(t.Context(), probeRun(b.namespace), client.DryRunAll); err != nil && strings.Contains(err.Error(), "Fridays") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the policy is not in force: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.put(bench())
	b.operator(nil)
	b.until("RunNotCreated", func(benchmark *v1alpha1.StorageBenchmark) bool {
		ready := find(benchmark.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == v1alpha1.ReasonRunNotCreated && strings.Contains(ready.Message, "no load on Fridays")
	})
	if got := b.kstatus(); got != "InProgress" {
		t.Errorf("kstatus is %s", got)
	}
	if err := cluster.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	b.live()
}

func probeRun(namespace string) *v1alpha1.BenchmarkRun {
	run := builders.Benchmark("bench").Target("data").Steady("write", "10s").Run()
	return &v1alpha1.BenchmarkRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
		Spec: v1alpha1.BenchmarkRunSpec{BenchmarkRef: v1alpha1.BenchmarkReference{Name: "bench"}, Hash: "h", Run: *run,
			Steps: []v1alpha1.ResolvedStep{{ID: "00", Phase: "write", Kind: v1alpha1.PhaseSteady, Purpose: v1alpha1.StepMeasure, Targets: []string{"data"}, Clients: 1, MaxDuration: "1m"}}},
	}
}

// TestNamespaceThatGoes checks that no run is created in a namespace that is being deleted, and that this is not
// reported as an error.
func TestNamespaceThatGoes(t *testing.T) {
	b := newBed(t)
	b.put(claimNamed("data"))
	benchmark := bench()
	suspend(true)(benchmark)
	b.put(benchmark)
	b.operator(nil)
	b.steady()
	if err := cluster.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}); err != nil {
		t.Fatal(err)
	}
	b.edit(suspend(false))
	b.until("the attempt", func(benchmark *v1alpha1.StorageBenchmark) bool { return benchmark.Status.ActiveRun != nil })
	if got := b.steady(); got.Status.ActiveRun.UID != "" || len(b.runs()) != 0 || strings.Contains(stateLine(t, got), v1alpha1.ReasonRunNotCreated) {
		t.Errorf("the state is %s", stateLine(t, got))
	}
}

// dying returns the client of an operator that dies before or after its n-th write. Later writes do not reach the API
// server.
func dying(n int, after bool, died chan<- struct{}) client.NewClientFunc {
	writes, gone := 0, errors.New("the operator died")
	write := func(do func() error) error {
		if writes++; writes > n {
			return gone
		}
		if writes < n {
			return do()
		}
		defer close(died)
		if after {
			if err := do(); err != nil {
				return err
			}
		}
		return gone
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
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				return write(func() error { return c.SubResource(sub).Patch(ctx, object, patch, options...) })
			},
		}), nil
	}
}

// death is the write before or after which the operator dies.
type death struct {
	write int
	after bool
}

// writes is the number of writes of an undisturbed operator in diesAtWrites: intend, create, adopt and judge for each
// of two runs, and a deletion after the second verdict.
const writes = 9

// TestOperatorDiesAtAWrite lets the operator die before or after some of its writes. The soak test covers all of them.
func TestOperatorDiesAtAWrite(t *testing.T) {
	diesAtWrites(t, death{1, false}, death{2, true}, death{3, false}, death{4, true}, death{writes, true})
}

// diesAtWrites checks that an operator that takes over after each of the deaths reaches the same result: one run for
// the spec and one for the request.
func diesAtWrites(t *testing.T, deaths ...death) {
	t.Helper()
	for _, at := range deaths {
		t.Run(fmt.Sprintf("write %d, after it: %t", at.write, at.after), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.put(claimNamed("data"))
			benchmark := bench()
			benchmark.Spec.HistoryLimit = new(int32(1))
			b.put(benchmark)
			died := make(chan struct{})
			stop := b.operator(dying(at.write, at.after, died))
			var successor sync.WaitGroup
			successor.Go(func() {
				select {
				case <-died:
					stop()
					b.operator(nil)
				case <-time.After(4 * hang.Guard):
					t.Error("the operator did not die")
				case <-t.Context().Done(): // the test has already failed
				}
			})
			b.ends(good)
			b.edit(request1("v1"))
			b.ends(good)
			b.until("pruning", func(*v1alpha1.StorageBenchmark) bool { return len(b.runs()) == 1 })
			// The effect of the last write may be visible before the operator dies.
			successor.Wait()
			end := b.steady()
			run := b.runs()[0]
			wantFirst := identityOf(end, &v1alpha1.StorageBenchmarkStatus{}, run.Spec.Hash)
			want := identityOf(end, &v1alpha1.StorageBenchmarkStatus{LastHandledRequest: "v1",
				LastRun: &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: wantFirst.name}}}, run.Spec.Hash)
			if run.Name != want.name || run.Spec.Seed != want.seed || end.Status.LastRun.UID != string(run.UID) {
				t.Errorf("the last run is %s with seed %d, want %+v; status has %+v", run.Name, run.Spec.Seed, want, end.Status.LastRun)
			}
			if got := b.kstatus(); got != "Current" || end.Status.ActiveRun != nil {
				t.Errorf("the end is %s", stateLine(t, end))
			}
		})
	}
}
