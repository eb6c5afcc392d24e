package storagebenchmark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

var begin0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const namespace = "team"

// smallScheme contains only the types that the controller needs: each patch makes the fake client iterate over the
// whole scheme.
var smallScheme = sync.OnceValue(func() *runtime.Scheme {
	types := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(types); err != nil {
		panic(err)
	}
	types.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{})
	metav1.AddToGroupVersion(types, corev1.SchemeGroupVersion)
	return types
})

var errCrash = errors.New("the operator died")

// world holds a benchmark, the objects it refers to, and the controller, with a fake API server that is fast enough for
// thousands of sequences. api_test.go has the tests with a real API server.
type world struct {
	tb         testing.TB
	clock      *clocktesting.FakePassiveClock
	client     client.WithWatch
	reconciler *reconciler
	recorder   *events.FakeRecorder
	key        types.NamespacedName

	// created lists the names of all runs in order of creation.
	created []string
	// acting is true while the controller acts, not a user.
	acting bool
	// die, if set, is called before (false) and after (true) each write of the controller, and reports whether the
	// controller dies at that moment.
	die func(after bool) bool
	// written, if set, is called after each write.
	written func()
	// behind, if set, reports whether the controller's cache lags.
	behind func() bool
	uids   int

	names map[string]string
	out   strings.Builder
	last  string
	// printed is the resource version of the benchmark when it was last printed.
	printed string
}

func newWorld(tb testing.TB, objects ...client.Object) *world {
	tb.Helper()
	w := &world{
		tb:       tb,
		clock:    clocktesting.NewFakePassiveClock(begin0),
		recorder: events.NewFakeRecorder(1000),
		key:      types.NamespacedName{Namespace: namespace, Name: "bench"},
		names:    map[string]string{},
	}
	inner := fake.NewClientBuilder().WithScheme(smallScheme()).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.StorageBenchmark{}, &v1alpha1.BenchmarkRun{})
	indexer := indexers{}
	if err := index(indexer); err != nil {
		tb.Fatal(err)
	}
	for key, extract := range indexer {
		inner = inner.WithIndex(key.object, key.field, extract)
	}
	w.client = interceptor.NewClient(inner.Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return w.write(func() error {
				w.uids++
				object.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
				object.SetCreationTimestamp(metav1.Time{Time: w.clock.Now()})
				if err := c.Create(ctx, object, options...); err != nil {
					return err
				}
				if run, ok := object.(*v1alpha1.BenchmarkRun); ok && w.acting {
					w.noteCreated(run)
				}
				return nil
			})
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return w.write(func() error { return c.Update(ctx, object, options...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return w.write(func() error { return c.SubResource(sub).Update(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return w.write(func() error { return c.Delete(ctx, object, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return w.write(func() error { return c.SubResource(sub).Patch(ctx, object, patch, options...) })
		},
	})
	w.reconciler = &reconciler{client: w.client, live: w.client, scheme: w.client.Scheme(), clock: w.clock, events: w.recorder}
	return w
}

// noteCreated records a created run, and checks that no other run is live.
func (w *world) noteCreated(run *v1alpha1.BenchmarkRun) {
	w.tb.Helper()
	w.created = append(w.created, run.Name)
	for _, other := range w.runs() {
		if other.Name != run.Name && !ended(&other) && metav1.IsControlledBy(&other, w.benchmark()) {
			w.tb.Errorf("run %s is created while %s is live", run.Name, other.Name)
		}
	}
}

// indexers collects the controller's indexes for the fake client.
type indexers map[indexKey]client.IndexerFunc

type indexKey struct {
	object client.Object
	field  string
}

func (i indexers) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	i[indexKey{object, field}] = extract
	return nil
}

func (w *world) write(do func() error) error {
	if w.acting && w.die != nil && w.die(false) {
		return errCrash
	}
	if err := do(); err != nil {
		return err
	}
	if w.written != nil {
		w.written()
	}
	if w.acting && w.die != nil && w.die(true) {
		return errCrash
	}
	return nil
}

func (w *world) reconcile() (ctrl.Result, error) {
	w.acting = true
	defer func() { w.acting = false }()
	return w.reconciler.Reconcile(w.tb.Context(), ctrl.Request{NamespacedName: w.key})
}

// settle reconciles until nothing changes any more.
func (w *world) settle() {
	w.tb.Helper()
	for range 100 {
		before := w.benchmark().ResourceVersion
		result, err := w.reconcile()
		if errors.Is(err, errCrash) || apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			_, _ = fmt.Fprintf(&w.out, "  error: %s\n", w.anonymous(err.Error()))
			return
		}
		w.print()
		if w.behind != nil && w.behind() {
			continue
		}
		if w.benchmark().ResourceVersion == before && (result.RequeueAfter == 0 || result.RequeueAfter > soon) {
			if result.RequeueAfter > 0 {
				_, _ = fmt.Fprintf(&w.out, "  again in %s\n", result.RequeueAfter)
			}
			return
		}
	}
	w.tb.Fatal("the controller does not settle")
}

func (w *world) benchmark() *v1alpha1.StorageBenchmark {
	w.tb.Helper()
	benchmark := &v1alpha1.StorageBenchmark{}
	if err := w.client.Get(w.tb.Context(), w.key, benchmark); err != nil {
		w.tb.Fatal(err)
	}
	return benchmark
}

func (w *world) edit(what string, change func(*v1alpha1.StorageBenchmark)) {
	w.tb.Helper()
	benchmark := w.benchmark()
	change(benchmark)
	benchmark.Generation++
	if err := w.client.Update(w.tb.Context(), benchmark); err != nil {
		w.tb.Fatal(err)
	}
	w.note("%s", what)
	w.settle()
}

func (w *world) note(format string, arguments ...any) {
	_, _ = fmt.Fprintf(&w.out, "%s  # %s\n", w.clock.Now().Format("15:04:05"), fmt.Sprintf(format, arguments...))
}

func (w *world) wait(length time.Duration) {
	w.clock.SetTime(w.clock.Now().Add(length))
	w.note("%s later", length)
	w.settle()
}

func (w *world) add(object client.Object) {
	w.tb.Helper()
	w.note("%T %s is created", object, w.anonymous(object.GetName()))
	if err := w.client.Create(w.tb.Context(), object); err != nil {
		w.tb.Fatal(err)
	}
	w.settle()
}

func (w *world) runs() []v1alpha1.BenchmarkRun {
	w.tb.Helper()
	list := &v1alpha1.BenchmarkRunList{}
	if err := w.client.List(w.tb.Context(), list); err != nil {
		w.tb.Fatal(err)
	}
	return list.Items
}

func (w *world) active() *v1alpha1.BenchmarkRun {
	w.tb.Helper()
	ref := w.benchmark().Status.ActiveRun
	if ref == nil {
		w.tb.Fatal("no run is active")
	}
	run := &v1alpha1.BenchmarkRun{}
	if err := w.client.Get(w.tb.Context(), types.NamespacedName{Namespace: namespace, Name: ref.Name}, run); err != nil {
		w.tb.Fatal(err)
	}
	return run
}

func (w *world) goes(stage string) {
	w.tb.Helper()
	run := w.active()
	run.Status.Stage = stage
	w.writeRun(run)
	w.note("the run is %s", stage)
	w.settle()
}

func (w *world) ends(what string, end func(*v1alpha1.BenchmarkRun, time.Time)) {
	w.tb.Helper()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	run := w.active()
	end(run, w.clock.Now())
	w.writeRun(run)
	w.note("the run ends: %s", what)
	w.settle()
}

func (w *world) writeRun(run *v1alpha1.BenchmarkRun) {
	w.tb.Helper()
	if err := w.client.Status().Update(w.tb.Context(), run); err != nil {
		w.tb.Fatal(err)
	}
}

func (w *world) deletes(run *v1alpha1.BenchmarkRun) {
	w.tb.Helper()
	if err := w.client.Delete(w.tb.Context(), run); err != nil {
		w.tb.Fatal(err)
	}
	w.note("somebody deletes %s", w.anonymous(run.Name))
	w.settle()
}

// print writes the state, if it has changed, and new events to the output.
func (w *world) print() {
	w.tb.Helper()
	if benchmark := w.benchmark(); benchmark.ResourceVersion != w.printed {
		w.printed = benchmark.ResourceVersion
		checkBenchmark(w.tb, benchmark)
		if line := stateLine(w.tb, benchmark); line != w.last {
			_, _ = fmt.Fprintf(&w.out, "  %s\n", w.anonymous(line))
			w.last = line
		}
	}
	for {
		select {
		case told := <-w.recorder.Events:
			_, _ = fmt.Fprintf(&w.out, "  event: %s\n", w.anonymous(told))
			continue
		default:
		}
		return
	}
}

// anonymous replaces the names of runs by r1, r2 and so on: the names change with every new field of the API.
func (w *world) anonymous(text string) string {
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune("bench-0123456789abcdef", r) }) {
		if rest, found := strings.CutPrefix(field, "bench-"); found && len(rest) == 8 && w.names[field] == "" {
			w.names[field] = fmt.Sprintf("r%d", len(w.names)+1)
		}
	}
	for name, short := range w.names {
		text = strings.ReplaceAll(text, name, short)
	}
	return text
}

// stateLine describes what users see of a benchmark, and its kstatus.
func stateLine(tb testing.TB, benchmark *v1alpha1.StorageBenchmark) string {
	tb.Helper()
	var parts []string
	parts = append(parts, fmt.Sprintf("%s, kstatus %s:", benchmark.Status.Stage, kstatusOf(tb, benchmark)))
	for _, condition := range benchmark.Status.Conditions {
		text := fmt.Sprintf("%s=%s", condition.Type, condition.Status)
		if condition.Type == v1alpha1.ConditionReady || condition.Type == v1alpha1.ConditionRunning || condition.Type == v1alpha1.ConditionRegressed {
			text += fmt.Sprintf("/%s (%s)", condition.Reason, condition.Message)
		}
		parts = append(parts, text)
	}
	if active := benchmark.Status.ActiveRun; active != nil {
		parts = append(parts, "active="+active.Name)
	}
	if last := benchmark.Status.LastRun; last != nil {
		parts = append(parts, "last="+last.Name)
	}
	if last := benchmark.Status.LastScheduleTime; last != nil {
		parts = append(parts, "scheduled="+clockText(last.Time))
	}
	if next := benchmark.Status.NextScheduleTime; next != nil {
		parts = append(parts, "next="+clockText(next.Time))
	}
	if name := benchmark.Status.LastReplacedRun; name != "" {
		parts = append(parts, "replaced="+name)
	}
	for _, one := range benchmark.Status.Objectives {
		parts = append(parts, fmt.Sprintf("objective=%s/%s", one.Name, one.Verdict))
	}
	if history := benchmark.Status.History; history != nil {
		parts = append(parts, fmt.Sprintf("history=%d", len(history.Runs)))
	}
	if display := benchmark.Status.Display; display != nil {
		parts = append(parts, display.Result+" "+display.P99)
	}
	return strings.Join(parts, " ")
}

func kstatusOf(tb testing.TB, benchmark *v1alpha1.StorageBenchmark) string {
	tb.Helper()
	encoded, err := json.Marshal(benchmark)
	if err != nil {
		tb.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(encoded, &object.Object); err != nil {
		tb.Fatal(err)
	}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.StorageBenchmarkKind))
	return computed(tb, object)
}

func computed(tb testing.TB, object *unstructured.Unstructured) string {
	tb.Helper()
	// json.Unmarshal decodes numbers as float64, but the kstatus library expects int64, as the API's own decoder produces.
	for _, field := range [][]string{{"metadata", "generation"}, {"status", "observedGeneration"}} {
		if value, found, _ := unstructured.NestedFieldNoCopy(object.Object, field...); found {
			if number, ok := value.(float64); ok {
				if err := unstructured.SetNestedField(object.Object, int64(number), field...); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	result, err := status.Compute(object)
	if err != nil {
		tb.Fatal(err)
	}
	return string(result.Status)
}

// bench returns a benchmark that needs only the claim from claimNamed("data") to run.
func bench() *v1alpha1.StorageBenchmark {
	return benchWith(builders.Benchmark("bench").Target("data").Steady("write", "10s"))
}

func benchWith(builder *builders.BenchmarkBuilder) *v1alpha1.StorageBenchmark {
	benchmark := builder.Obj()
	benchmark.Namespace, benchmark.UID, benchmark.Generation = namespace, "benchmark-uid", 1
	benchmark.Status.ObservedGeneration = -1
	return benchmark
}

func claimNamed(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: builders.Fio().Obj().DatasetSize}},
		},
	}
}

func profileNamed(name string, fio *builders.FioBuilder) *v1alpha1.WorkloadProfile {
	return &v1alpha1.WorkloadProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1},
		Spec:       v1alpha1.WorkloadProfileSpec{Engine: fio.Engine()},
	}
}
