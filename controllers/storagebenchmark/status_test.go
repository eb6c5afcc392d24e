package storagebenchmark

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// largest returns a run of the maximum size that the API accepts: 32 phases of 16 targets and 4 operations, names of 40
// characters, and messages of characters that take the most space.
func largest(now time.Time) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{}
	run.Name, run.UID = strings.Repeat("n", 49), "0d2a2a5e-0000-4000-8000-000000000001"
	run.Spec.Hash = strings.Repeat("f", 64)
	at := metav1.NewMicroTime(now)
	run.Status.EndTime = &at
	wide := strings.Repeat("\x01", 1024)
	run.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllPhasesDone},
		{Type: v1alpha1.ConditionValid, Status: metav1.ConditionFalse, Reason: strings.Repeat("R", 1024), Message: wide},
	}
	for i := range 32 {
		phase := v1alpha1.PhaseResult{Name: fmt.Sprintf("%02d%s", i, strings.Repeat("p", 38)), Kind: v1alpha1.PhaseSteady}
		for j := range 16 {
			target := v1alpha1.TargetResult{Target: fmt.Sprintf("%02d%s", j, strings.Repeat("t", 38))}
			for _, operation := range []v1alpha1.Operation{v1alpha1.OperationRead, v1alpha1.OperationWrite, v1alpha1.OperationTrim, v1alpha1.OperationSync} {
				most := int64(math.MaxInt64)
				target.Operations = append(target.Operations, v1alpha1.OperationResult{Operation: operation,
					BytesPerSecond: &most, IOPSMilli: &most, Latency: &v1alpha1.LatencyResult{P99Nanoseconds: &most}})
			}
			phase.Targets = append(phase.Targets, target)
		}
		run.Status.Phases = append(run.Status.Phases, phase)
	}
	return run
}

func TestLargestStatusFits(t *testing.T) {
	benchmark := bench()
	benchmark.Name = strings.Repeat("b", 40)
	benchmark.Spec.Trigger = &v1alpha1.Trigger{Manual: strings.Repeat("\x01", 128)}
	benchmark.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: strings.Repeat("\x02", 100_000)}
	obs := observation{benchmark: benchmark, hash: strings.Repeat("f", 64), now: begin0}

	obs.benchmark.Status = reportOn(obs, action{do: intend}, outcome{}).status
	obs.active = activeRun{state: activeEnded, run: largest(begin0)}
	obs.benchmark.Status = reportOn(obs, action{do: judge}, outcome{}).status
	checkBenchmark(t, obs.benchmark)
	if got := len(obs.benchmark.Status.Headlines); got < 30 || got > maxHeadlines {
		t.Errorf("%d headlines are kept", got)
	}
	last := obs.benchmark.Status.Headlines[len(obs.benchmark.Status.Headlines)-1]
	if !strings.HasPrefix(last.Phase, "31") {
		t.Errorf("the last headline is of phase %s", last.Phase)
	}

	obs.active = activeRun{state: noActive}
	for range 500 {
		obs.candidate.missing = append(obs.candidate.missing, field.NotFound(field.NewPath("spec"), strings.Repeat("\x01", 100)))
	}
	obs.candidate.reason = v1alpha1.ReasonClaimNotFound
	obs.now = begin0.Add(time.Hour)
	obs.benchmark.Status = reportOn(obs, action{do: intend}, outcome{}).status
	for _, act := range []verb{await, yield, hold, refuse} {
		obs.candidate.problems = obs.candidate.missing
		told := reportOn(obs, action{do: act}, outcome{})
		checkBenchmark(t, &v1alpha1.StorageBenchmark{Status: told.status})
	}
	encoded, err := json.Marshal(obs.benchmark.Status)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(encoded))
}

// TestYieldIsRetried checks that a benchmark is reconciled again while another object has the name of its run: the
// deletion of that object triggers no reconcile.
func TestYieldIsRetried(t *testing.T) {
	obs := observation{benchmark: bench(), hash: "now", now: begin0}
	obs.benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: "r", Hash: "now"}
	if got := reportOn(obs, action{do: yield}, outcome{}).wake; got <= 0 || got > 10*time.Minute {
		t.Errorf("the next reconcile is after %s", got)
	}
}

func TestEcho(t *testing.T) {
	for _, request := range []string{"", "2026-11-21T12:00:00Z", strings.Repeat("é", 128)} {
		if got := boundedRequest(request); got != request {
			t.Errorf("%q is echoed as %q", request, got)
		}
	}
	a, b := boundedRequest(strings.Repeat("x", 129)), boundedRequest(strings.Repeat("x", 130))
	if a == b || len([]rune(a)) > maxEcho || len([]rune(b)) > maxEcho {
		t.Errorf("long requests are echoed as %q and %q", a, b)
	}
	if got := boundedRequest("a\x00b\xff"); strings.ContainsRune(got, 0) || !strings.HasPrefix(got, "ab") {
		t.Errorf("hostile text is echoed as %q", got)
	}
}

// TestIdentitiesDiffer checks that identities differ even if text moves from one part to the next.
func TestIdentitiesDiffer(t *testing.T) {
	seen := map[identity]string{}
	benchmark := bench()
	for _, uid := range []string{"u", "u2"} {
		for _, hash := range []string{"h", "h2"} {
			for _, status := range []v1alpha1.StorageBenchmarkStatus{
				{}, {LastHandledManual: "x"}, {LastHandledRequest: "x"}, {LastHandledManual: "x", LastHandledRequest: "x"},
				{LastHandledManual: "xx"}, {LastRun: &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: "x"}}},
			} {
				what := fmt.Sprintf("%s %s %+v", uid, hash, status)
				benchmark.UID = types.UID(uid)
				id := identityOf(benchmark, &status, hash)
				if other, found := seen[id]; found {
					t.Errorf("%s and %s are %+v", what, other, id)
				}
				seen[id] = what
				if id.seed < 0 || len(id.name) != len("bench-")+8 {
					t.Errorf("%s is %+v", what, id)
				}
			}
		}
	}
}

func TestVerdicts(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "why"}
	}
	complete := condition(v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonAllPhasesDone)
	valid := condition(v1alpha1.ConditionValid, metav1.ConditionTrue, v1alpha1.ReasonNoDisqualifyingWarning)
	for _, test := range []struct {
		name       string
		conditions []metav1.Condition
		want       string
	}{
		{"good", []metav1.Condition{complete, valid}, v1alpha1.ReasonPassed},
		{"good by objectives that are gone", []metav1.Condition{complete, valid, condition(v1alpha1.ConditionObjectivesMet, metav1.ConditionFalse, v1alpha1.ReasonObjectiveMissed)}, v1alpha1.ReasonPassed},
		{"failed", []metav1.Condition{condition(v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClientLost)}, v1alpha1.ReasonClientLost},
		{"failed and complete", []metav1.Condition{complete, valid, condition(v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClientLost)}, v1alpha1.ReasonClientLost},
		{"invalid", []metav1.Condition{complete, condition(v1alpha1.ConditionValid, metav1.ConditionFalse, "UnwrittenDataRead")}, v1alpha1.ReasonRunInvalid},
		{"validity not known", []metav1.Condition{complete, condition(v1alpha1.ConditionValid, metav1.ConditionUnknown, v1alpha1.ReasonNoResult)}, v1alpha1.ReasonRunInvalid},
		{"validity not said", []metav1.Condition{complete}, v1alpha1.ReasonRunInvalid},
		{"nothing said", nil, v1alpha1.ReasonRunFailed},
		{"reason too long", []metav1.Condition{condition(v1alpha1.ConditionFailed, metav1.ConditionTrue, strings.Repeat("R", 1000))}, v1alpha1.ReasonRunFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{Status: v1alpha1.BenchmarkRunStatus{Conditions: test.conditions}}
			run.Name = "bench-1"
			got := verdictOn(observation{benchmark: bench()}, run).run
			if got.Reason != test.want || !strings.Contains(got.Message, "bench-1") {
				t.Errorf("the verdict is %s: %s; want %s", got.Reason, got.Message, test.want)
			}
		})
	}
}

func TestHeadlines(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	figure := func(operation v1alpha1.Operation, rate *int64) v1alpha1.OperationResult {
		return v1alpha1.OperationResult{Operation: operation, BytesPerSecond: rate, IOPSMilli: rate}
	}
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "layout", Kind: v1alpha1.PhasePrepare, Targets: []v1alpha1.TargetResult{{Target: "a", Operations: []v1alpha1.OperationResult{figure(v1alpha1.OperationWrite, new(int64(9)))}}}},
		{Name: "write", Kind: v1alpha1.PhaseSteady, Targets: []v1alpha1.TargetResult{
			{Target: "a", Operations: []v1alpha1.OperationResult{figure(v1alpha1.OperationWrite, new(int64(0))), figure(v1alpha1.OperationSync, nil)}},
			{Target: "b", Operations: []v1alpha1.OperationResult{figure(v1alpha1.OperationWrite, new(int64(7)))}},
		}},
		{Name: "files", Kind: v1alpha1.PhaseSmallFiles, Targets: []v1alpha1.TargetResult{
			{Target: "a", Operations: []v1alpha1.OperationResult{
				{Operation: v1alpha1.OperationCreate, IOPSMilli: new(int64(4))}}}}},
		{Name: "drain", Kind: v1alpha1.PhaseBurstDrain, Targets: []v1alpha1.TargetResult{{Target: "a",
			Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationWrite, Bytes: 99, BytesPerSecond: new(int64(27)), IOPSMilli: new(int64(26))}},
			Burst: &v1alpha1.BurstResult{Exhausted: true, Bytes: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 8}},
				Operations: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 7}}}}}},
	}
	var got []string
	for _, headline := range headlinesOf(run) {
		text := fmt.Sprintf("%s/%s %s", headline.Phase, headline.Target, headline.Operation)
		if headline.BytesPerSecond != nil {
			text += fmt.Sprintf(" %d B/s", *headline.BytesPerSecond)
		}
		got = append(got, text+fmt.Sprintf(" %d", *headline.IOPSMilli))
	}
	want := "write/a Write 0 B/s 0, write/b Write 7 B/s 7, files/a Create 4, drain/a Write 8 B/s 7"
	if strings.Join(got, ", ") != want {
		t.Errorf("headlines are %v, want %s", got, want)
	}
}

// TestTrimEndedRun checks that the cache trims an ended run, but not a run that a controller still needs.
func TestTrimEndedRun(t *testing.T) {
	frozen := builders.Benchmark("bench").Target("data").Steady("write", "10s").Run()
	made := func() *v1alpha1.BenchmarkRun {
		run := &v1alpha1.BenchmarkRun{Spec: v1alpha1.BenchmarkRunSpec{Hash: "h", Seed: 7, Run: *frozen,
			Steps: []v1alpha1.ResolvedStep{{ID: "00-write", Phase: "write", Kind: v1alpha1.PhaseSteady, Purpose: v1alpha1.StepMeasure, Targets: []string{"data"}, Clients: 1}}}}
		run.Labels = map[string]string{v1alpha1.LabelBenchmark: "bench"}
		return run
	}
	live, done, held := made(), made(), made()
	good(done, begin0)
	good(held, begin0)
	held.Finalizers = []string{v1alpha1.FinalizerRun}
	for name, test := range map[string]struct {
		run  *v1alpha1.BenchmarkRun
		trim bool
	}{"live": {live, false}, "ended": {done, true}, "ended, with the finalizer": {held, false}} {
		basis := test.run.Status.Comparable.DeepCopy()
		before := verdictOn(observation{benchmark: bench()}, test.run).run
		after, err := TrimEndedRun(test.run)
		if err != nil {
			t.Fatal(err)
		}
		run, ok := after.(*v1alpha1.BenchmarkRun)
		if !ok {
			t.Fatalf("%T", after)
		}
		if trimmed := len(run.Spec.Steps) == 0 && len(run.Status.Phases) == 0 && len(run.Spec.Run.Targets) == 0; trimmed != test.trim {
			t.Errorf("%s: trimmed is %t", name, trimmed)
		}
		if test.trim && (!ended(run) || verdictOn(observation{benchmark: bench()}, run).run != before || !equality.Semantic.DeepEqual(run.Status.Comparable, basis) || run.Spec.Hash != "h" || run.Labels[v1alpha1.LabelBenchmark] != "bench") {
			t.Errorf("%s: a field that the controller reads was trimmed: %+v", name, run)
		}
	}
	if other, err := TrimEndedRun("tombstone"); err != nil || other != "tombstone" {
		t.Errorf("an object that is not a run became %v, %v", other, err)
	}
}

// TestSurplus checks that surplus runs are pruned in the order in which they ended, but never a live run or one that
// the status names.
func TestSurplus(t *testing.T) {
	at := func(minutes int) *metav1.MicroTime {
		return &metav1.MicroTime{Time: begin0.Add(time.Duration(minutes) * time.Minute)}
	}
	made := func(name string, minutes int, complete bool) v1alpha1.BenchmarkRun {
		run := v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: v1alpha1.BenchmarkRunStatus{EndTime: at(minutes)}}
		if complete {
			run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
		}
		return run
	}
	leaving := made("leaving", 0, true)
	leaving.DeletionTimestamp = &metav1.Time{Time: begin0}
	obs := observation{benchmark: bench(), runs: []v1alpha1.BenchmarkRun{
		made("c3", 3, true), made("c1", 1, true), made("f5", 5, false), made("c2", 2, true), made("f4", 4, false), made("f6", 6, false),
		leaving, {ObjectMeta: metav1.ObjectMeta{Name: "live"}},
	}}
	for _, test := range []struct {
		history, failed int32
		last, active    string
		want            string
	}{
		{20, 5, "", "", ""},
		{2, 2, "", "", "c1 f4"},
		{1, 0, "", "", "c2 c1 f6 f5 f4"},
		{1, 0, "f6", "c1", "c2 f5 f4"},
		{1, 0, "c1", "live", "c2 f6 f5 f4"},
	} {
		obs.benchmark.Spec.HistoryLimit, obs.benchmark.Spec.FailedHistoryLimit = &test.history, &test.failed
		obs.benchmark.Status = v1alpha1.StorageBenchmarkStatus{
			LastRun:   &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: test.last}},
			ActiveRun: &v1alpha1.RunReference{Name: test.active},
		}
		var got []string
		for _, run := range beyondHistoryLimit(obs) {
			got = append(got, run.Name)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("limits %d and %d, last %q, active %q: %v go, want %s", test.history, test.failed, test.last, test.active, got, test.want)
		}
	}
	obs.benchmark.Spec.HistoryLimit, obs.benchmark.Spec.FailedHistoryLimit = nil, nil
	if got := beyondHistoryLimit(obs); len(got) != 0 {
		t.Errorf("without limits %d go", len(got))
	}
}
