package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/builders"
)

// TestWaitingFor checks the reason why a benchmark has not started its next run. The verdict on the last run is never
// that reason.
func TestWaitingFor(t *testing.T) {
	last := &v1alpha1.JudgedRun{Reason: v1alpha1.ReasonObjectiveMissed, Message: "run a-1: floor: too slow"}
	missed := metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: last.Reason, Message: last.Message}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: last.Reason, Message: last.Message}
	passed := &v1alpha1.JudgedRun{Reason: v1alpha1.ReasonPassed, Message: "run a-1 is complete and valid"}
	good := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: passed.Reason, Message: passed.Message}
	live := metav1.Condition{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue, Reason: "RunLive", Message: "run a-2 is live; the requested run starts next"}
	claim := metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonClaimNotFound, Message: "claim data does not exist"}
	idle := metav1.Condition{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoRun, Message: "no run is live"}
	refused := idle
	refused.Reason, refused.Message = v1alpha1.ReasonRunNotCreated, "run a-2 cannot be created: exceeded quota"
	for name, test := range map[string]struct {
		last       *v1alpha1.JudgedRun
		conditions []metav1.Condition
		want       string
	}{
		"a new benchmark":      {nil, nil, "the operator has not processed the benchmark yet; check that the operator is running: kubectl get pods -n storagebench-system"},
		"a missing claim":      {nil, []metav1.Condition{claim}, "ClaimNotFound: claim data does not exist"},
		"after a bad run":      {last, []metav1.Condition{ready, missed, idle}, "the operator has not started the next run yet"},
		"after a good run":     {passed, []metav1.Condition{good, idle}, "the operator has not started the next run yet"},
		"refused, a bad run":   {last, []metav1.Condition{ready, missed, refused}, "RunNotCreated: " + refused.Message},
		"refused, a good run":  {passed, []metav1.Condition{good, refused}, "RunNotCreated: " + refused.Message},
		"behind a live run":    {passed, []metav1.Condition{good, live}, "RunLive: run a-2 is live; the requested run starts next"},
		"a claim that is gone": {last, []metav1.Condition{missed, ready, claim}, "ClaimNotFound: claim data does not exist"},
	} {
		benchmark := &v1alpha1.StorageBenchmark{}
		benchmark.Status.LastRun, benchmark.Status.Conditions = test.last, test.conditions
		if got := waitingFor(benchmark); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestRegressionNotEvaluated checks that the user gets a message if the operator has not compared a run with earlier
// runs in time, and gets none if the benchmark has no spec.regression.
func TestRegressionNotEvaluated(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "b-1", Namespace: "default", UID: "1"}}
	run.Spec.BenchmarkRef.Name = "b"
	for _, compares := range []bool{true, false} {
		benchmark := &v1alpha1.StorageBenchmark{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StorageBenchmarkKind},
			ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "default"},
		}
		benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: run.Name, UID: string(run.UID)}
		if compares {
			benchmark.Spec.Regression = &v1alpha1.RegressionPolicy{}
		}
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{benchmarkResource: "StorageBenchmarkList"}, object(t, benchmark))
		var messages bytes.Buffer
		found := (&cluster{client: client, namespace: "default"}).judgedWithin(t.Context(), Streams{Err: &messages}, run, -time.Second)
		if found == nil || found.Name != "b" {
			t.Errorf("spec.regression %t: %v", compares, found)
		}
		if said := strings.Contains(messages.String(), "has not evaluated run b-1 for regressions"); said != compares {
			t.Errorf("spec.regression %t: said %q", compares, messages.String())
		}
	}
}

// TestLeftNamesTheNamespace checks that the commands shown after Ctrl-C name the namespace of the run, because the
// current context may have another one.
func TestLeftNamesTheNamespace(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var messages bytes.Buffer
	err := (&cluster{namespace: "staging"}).left(ctx, Streams{Err: &messages}, "nightly", context.Canceled)
	if err == nil || err.Error() != exitError(exitLeft).Error() {
		t.Error(err)
	}
	for _, want := range []string{"watch nightly -n staging\n", "cancel nightly -n staging\n"} {
		if !strings.Contains(messages.String(), want) {
			t.Errorf("it does not say %q: %s", want, messages.String())
		}
	}
}

// completeRun returns a run of the benchmark b that is complete and valid.
func completeRun() *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind},
		ObjectMeta: metav1.ObjectMeta{Name: "b-1", Namespace: "default", UID: "1"},
	}
	run.Spec.BenchmarkRef.Name = "b"
	run.Status.EndTime = &metav1.MicroTime{Time: time.Unix(1000, 0)}
	for _, condition := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionValid, v1alpha1.ConditionObjectivesMet} {
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
	}
	return run
}

// TestWatchAfterCancel checks that `watch` says that the last run of a benchmark was deleted.
func TestWatchAfterCancel(t *testing.T) {
	benchmark := &v1alpha1.StorageBenchmark{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StorageBenchmarkKind},
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "default"},
	}
	benchmark.Status.LastRun = &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: "b-1", UID: "1"}}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), object(t, benchmark))
	_, err := (&cluster{client: client, namespace: "default"}).runToWatch(t.Context(), Streams{}, "b")
	if err == nil || !strings.Contains(err.Error(), "the last run of StorageBenchmark b was deleted") {
		t.Error(err)
	}
}

// TestLaterRunCannotBeRequested checks that --repeat shows the results so far if the next run cannot be requested.
func TestLaterRunCannotBeRequested(t *testing.T) {
	suspended := true
	benchmark := &v1alpha1.StorageBenchmark{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StorageBenchmarkKind},
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "default"},
	}
	benchmark.Spec.Suspend = &suspended
	benchmark.Status.LastRun = &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: "b-1", UID: "1"}, Reason: v1alpha1.ReasonPassed}
	run := completeRun()
	kinds := map[schema.GroupVersionResource]string{benchmarkResource: "StorageBenchmarkList", runResource: "BenchmarkRunList",
		corev1.SchemeGroupVersion.WithResource("configmaps"): "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, object(t, benchmark), object(t, run))
	var out, messages bytes.Buffer
	last, err := (&cluster{client: client, namespace: "default"}).followRuns(
		t.Context(), Streams{Out: &out, Err: &messages}, &repetitions{}, "b", "b-1", "",
		runOptions{repeat: 3, output: "json"})
	if last != "b" || err == nil || err.Error() != exitError(report.ExitFailed).Error() {
		t.Errorf("followed %s: %v", last, err)
	}
	if !strings.Contains(messages.String(), "error: StorageBenchmark b is suspended") || !strings.Contains(out.String(), `"b-1"`) {
		t.Errorf("said %q, and the result is:\n%s", messages.String(), out.String())
	}
}

// TestAskAfterAProfileEdit checks that a live run is followed only if it has the same specification and its profiles
// have not changed since it started. Otherwise, a new run is requested.
func TestAskAfterAProfileEdit(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{
		benchmarkResource: "StorageBenchmarkList", runResource: "BenchmarkRunList", profileResource: "WorkloadProfileList"}
	depth := func(depth int32) *builders.FioBuilder {
		return builders.Fio().Mutate(func(fio *v1alpha1.FioProfile) { fio.QueueDepth = &depth })
	}
	benchmark := builders.Benchmark("b").Target("data").Steady("write", "10s").
		WithProfile(v1alpha1.WorkloadProfileKind, "p").Obj()
	benchmark.Namespace = "default"
	hash := plan.RunHash(&benchmark.Spec.Run)
	benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: "b-1", UID: "1", Hash: hash}
	resolved, problems := plan.Resolve(&benchmark.Spec.Run, func(v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		return depth(8).Engine(), true
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	run := record.New(record.Identity{Name: "b-1", Namespace: "default", UID: "1", Hash: hash}, resolved, plan.Plan{})
	for queueDepth, follows := range map[int32]string{8: "b-1", 32: ""} {
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
			object(t, benchmark), object(t, run), object(t, builders.Profile("default", "p", depth(queueDepth))))
		var messages bytes.Buffer
		c := &cluster{client: client, namespace: "default"}
		chosen, err := c.ask(t.Context(), Streams{Err: &messages}, "b", benchmark, true)
		after := &v1alpha1.StorageBenchmark{}
		if err = errors.Join(err, c.get(t.Context(), benchmarkResource, "b", after)); err != nil {
			t.Fatal(err)
		}
		requested := after.Annotations[v1alpha1.AnnotationRequestedAt] != ""
		if got := chosen(&after.Status); got != follows || requested != (follows == "") {
			t.Errorf("a profile with queueDepth %d: follows %q, want %q, requested %t: %s", queueDepth, got, follows, requested, &messages)
		}
		after.Status.LastRun = &v1alpha1.JudgedRun{RunReference: *after.Status.ActiveRun}
		after.Status.ActiveRun = nil
		if got := chosen(&after.Status); got != follows {
			t.Errorf("a profile with queueDepth %d: follows %q after the verdict, want %q", queueDepth, got, follows)
		}
		after.Status.ActiveRun = &v1alpha1.RunReference{Name: "b-2", UID: "2", Hash: hash}
		if got := chosen(&after.Status); got != "b-2" {
			t.Errorf("a profile with queueDepth %d: follows %q, want the next run", queueDepth, got)
		}
	}
}

// TestRunThatIsCancelledWhileFollowed checks that the result of a run is shown even if the run is deleted right after
// its end, as a cancelled run is.
func TestRunThatIsCancelledWhileFollowed(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind},
		ObjectMeta: metav1.ObjectMeta{Name: "b-1", Namespace: "default", UID: "1"},
	}
	run.Spec.BenchmarkRef.Name = "b"
	run.Status.EndTime = &metav1.MicroTime{Time: time.Unix(1000, 0)}
	run.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonStopped},
	}
	kinds := map[schema.GroupVersionResource]string{
		benchmarkResource: "StorageBenchmarkList", runResource: "BenchmarkRunList",
		corev1.SchemeGroupVersion.WithResource("configmaps"): "ConfigMapList",
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, object(t, run))
	seen := false
	client.PrependReactor("get", "benchmarkruns", func(clienttesting.Action) (bool, runtime.Object, error) {
		gone := seen
		seen = true
		return gone, nil, apierrors.NewNotFound(runResource.GroupResource(), run.Name)
	})
	var out bytes.Buffer
	_, err := (&cluster{client: client, namespace: "default"}).followRuns(t.Context(),
		Streams{Out: &out, Err: io.Discard}, &repetitions{}, "", "b-1", "", runOptions{repeat: 1, output: "json"})
	if err == nil || err.Error() != exitError(report.ExitFailed).Error() || !strings.Contains(out.String(), `"b-1"`) {
		t.Errorf("%v, and the result is:\n%s", err, out.String())
	}
}

// TestResultSurvivesAnOutage checks that the result of an ended run is shown even if the API server fails.
func TestResultSurvivesAnOutage(t *testing.T) {
	run := completeRun()
	kinds := map[schema.GroupVersionResource]string{
		benchmarkResource: "StorageBenchmarkList", runResource: "BenchmarkRunList",
		corev1.SchemeGroupVersion.WithResource("configmaps"): "ConfigMapList",
	}
	for resource, works := range map[string]int{"storagebenchmarks": 0, "benchmarkruns": 1, "configmaps": 0} {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, object(t, run))
			requests := 0
			client.PrependReactor("*", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				requests++
				return requests > works, nil, apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
			})
			var out, messages bytes.Buffer
			_, err := (&cluster{client: client, namespace: "default"}).followRuns(
				t.Context(), Streams{Out: &out, Err: &messages}, &repetitions{}, "", "b-1", "",
				runOptions{repeat: 1, output: "json"})
			if err != nil || requests <= works || !strings.Contains(out.String(), `"b-1"`) {
				t.Errorf("%s fail: %v, said %q, and the result is:\n%s", resource, err, messages.String(), out.String())
			}
		})
	}
}

// TestWatchOfAnOldObject checks that one watch is enough for an object that last changed before the API server's oldest
// retained change, and that the callback sees each state once.
func TestWatchOfAnOldObject(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind},
		ObjectMeta: metav1.ObjectMeta{Name: "b-1", Namespace: "default", ResourceVersion: "7"},
	}
	later := run.DeepCopy()
	later.ResourceVersion = "9000"
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), object(t, run))
	watches := 0
	client.PrependWatchReactor("benchmarkruns", func(action clienttesting.Action) (bool, apiwatch.Interface, error) {
		watches++
		changes := apiwatch.NewFakeWithOptions(apiwatch.FakeOptions{ChannelSize: 2})
		if watches < 3 && action.(clienttesting.WatchActionImpl).ListOptions.ResourceVersion != "" {
			changes.Error(&apierrors.NewResourceExpired("too old resource version").ErrStatus)
			return true, changes, nil
		}
		changes.Add(object(t, run))
		changes.Modify(object(t, later))
		return true, changes, nil
	})
	var seen []string
	err := (&cluster{client: client, namespace: "default"}).each(t.Context(), runResource, run.Name, io.Discard, func(object *unstructured.Unstructured) error {
		if seen = append(seen, object.GetResourceVersion()); object.GetResourceVersion() == later.ResourceVersion {
			return errDone
		}
		return nil
	})
	if err != nil || watches != 1 || !slices.Equal(seen, []string{"7", "9000"}) {
		t.Errorf("%d watches, saw %v: %v", watches, seen, err)
	}
}

// TestWatchThatEndsAtOnce checks that reads of an object are spaced out if a proxy ends each watch at once, and that no
// outage is reported.
func TestWatchThatEndsAtOnce(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind},
		ObjectMeta: metav1.ObjectMeta{Name: "b-1", Namespace: "default"},
	}
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewSimpleDynamicClient(runtime.NewScheme(), object(t, run))
		client.PrependWatchReactor("benchmarkruns", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
			ended := apiwatch.NewFake()
			ended.Stop()
			return true, ended, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var problems bytes.Buffer
		seen := 0
		err := (&cluster{client: client, namespace: "default"}).each(ctx, runResource, run.Name, &problems, func(*unstructured.Unstructured) error {
			if seen++; seen > 20 {
				return errors.New("it is read without pause")
			}
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || problems.Len() > 0 {
			t.Errorf("%v, and it says %q", err, problems.String())
		}
	})
}
