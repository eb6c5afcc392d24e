package record_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

// begun returns a run that has begun, with its plan.
func begun(t *testing.T, benchmark *builders.BenchmarkBuilder) (*v1alpha1.BenchmarkRun, plan.Plan) {
	t.Helper()
	spec := benchmark.Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	run := record.New(record.Identity{Name: "b-1", Namespace: "default", UID: "0-1",
		Benchmark: v1alpha1.BenchmarkReference{Name: "b"}, Hash: "abc", Seed: 7}, spec, planned)
	record.Begin(run, builders.Start)
	return run, planned
}

func check(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	var checker invariants.Checker
	checker.Check(t, run)
	invariants.CheckObject(t, run)
}

func writer(index int) *builders.ClientBuilder {
	return builders.Client("a", index).Does(10, measure.Write, builders.Counter(2000, 65536), 4*time.Millisecond)
}

func first(step plan.Step) decide.Attempt { return decide.Attempt{Step: step.ID, Number: 1} }

func TestNew(t *testing.T) {
	run, planned := begun(t, usual().Clients(3).Steady("more", "90s").WarmUp("1500ms"))
	check(t, run)
	if len(run.Spec.Steps) != 4 {
		t.Fatalf("steps %v", run.Spec.Steps)
	}
	layout, more := run.Spec.Steps[0], run.Spec.Steps[3]
	if layout.Duration != nil || layout.MaxDuration != "48h" || layout.Clients != 3 || layout.Kind != v1alpha1.PhasePrepare {
		t.Errorf("layout is %+v", layout)
	}
	if *more.Duration != "1m30s" || more.WarmUp != "1s500ms" || more.MaxDuration != "2m31s500ms" {
		t.Errorf("more is %+v", more)
	}
	planned.Steps[0].Workloads["a"].Fio.QueueDepth = nil
	if run.Spec.Run.Workload.Fio.QueueDepth == nil {
		t.Error("the record shares its specification with the plan")
	}
}

func TestSnapshotRefusesWhatAdmissionWould(t *testing.T) {
	for name, spoil := range map[string]func(*v1alpha1.BenchmarkRun){
		"spec.run.startTimeout":   func(r *v1alpha1.BenchmarkRun) { r.Spec.Run.StartTimeout = "1" },
		"spec.run.activeDeadline": func(r *v1alpha1.BenchmarkRun) { r.Spec.Run.ActiveDeadline = "-1h" },
	} {
		run, planned := begun(t, usual())
		spoil(run)
		if _, err := record.Snapshot(run, planned, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSnapshotDefaults checks that the defaults apply even if the API server has not set them.
func TestSnapshotDefaults(t *testing.T) {
	run, planned := begun(t, usual())
	run.Spec.Run.Clients.OnLoss, run.Spec.Run.Clients.MaxRestarts = "", nil
	snapshot, err := record.Snapshot(run, planned, nil)
	if err != nil {
		t.Fatal(err)
	}
	if snapshot.Policy.OnLoss != decide.RestartStep || snapshot.Policy.MaxRestarts != 2 || snapshot.Policy.StopGrace <= 0 || snapshot.Policy.FinishTimeout <= 0 {
		t.Errorf("policy %+v", snapshot.Policy)
	}
	if !snapshot.Begun.Equal(builders.Start) || snapshot.Failure != nil || !snapshot.FinishSent.IsZero() {
		t.Errorf("snapshot %+v", snapshot)
	}
}

// TestIntentStays checks that recording an intent again does not change it.
func TestIntentStays(t *testing.T) {
	run, planned := begun(t, usual())
	action := decide.Action{Attempt: first(planned.Steps[0]), Start: builders.Start.Add(time.Second + 1500*time.Nanosecond), Deadline: builders.Start.Add(time.Minute)}
	record.Intent(run, planned.Steps[0], action)
	action.Start, action.Deadline = action.Start.Add(time.Hour), action.Deadline.Add(time.Hour)
	record.Intent(run, planned.Steps[0], action)
	snapshot, err := record.Snapshot(run, planned, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := snapshot.Records["00-layout"]
	if !got.Start.Equal(builders.Start.Add(time.Second+time.Microsecond)) || !got.Deadline.Equal(builders.Start.Add(time.Minute)) || got.Done || got.Attempt != 1 {
		t.Errorf("record %+v", got)
	}
	check(t, run)
}

// TestLastAttemptIsCurrent checks that the attempt that starts is always the last one in the status, even if the loss
// of a client repeats a step and, before it, the layout.
func TestLastAttemptIsCurrent(t *testing.T) {
	run, planned := begun(t, usual())
	layout, write := planned.Steps[0], planned.Steps[1]
	start := func(step plan.Step, number int) {
		t.Helper()
		action := decide.Action{Attempt: decide.Attempt{Step: step.ID, Number: number}, Start: builders.Start}
		record.Intent(run, step, action)
		if last := run.Status.Steps[len(run.Status.Steps)-1]; last.ID != step.ID || int(last.Attempt) != number {
			t.Errorf("%s starts, and the last attempt is %s#%d", action.Attempt, last.ID, last.Attempt)
		}
	}
	start(layout, 1)
	record.Result(run, layout, first(layout), []result.Client{writer(0).Obj(), writer(1).Obj()}, builders.Start)
	start(write, 1)
	record.Retry(run, write, decide.Action{Attempt: decide.Attempt{Step: write.ID, Number: 2}}, nil, builders.Start)
	record.Relayout(run, "a")
	start(layout, 2)
	start(write, 2)
	if len(run.Status.Steps) != 4 {
		t.Errorf("the attempts are %+v", run.Status.Steps)
	}
	check(t, run)
}

// TestSnapshotTakesTheNewestAttempt checks that the order of the attempts in the status does not matter.
func TestSnapshotTakesTheNewestAttempt(t *testing.T) {
	run, planned := begun(t, usual())
	attempt := first(planned.Steps[0])
	record.Intent(run, planned.Steps[0], decide.Action{Attempt: attempt, Start: builders.Start, Deadline: builders.Start.Add(time.Minute)})
	attempt.Number = 2
	record.Retry(run, planned.Steps[0], decide.Action{Attempt: attempt}, nil, builders.Start.Add(time.Second))
	slices.Reverse(run.Status.Steps)
	snapshot, err := record.Snapshot(run, planned, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := snapshot.Records["00-layout"]; got.Attempt != 2 || got.Done || !got.Start.IsZero() {
		t.Errorf("record %+v", got)
	}
}

// TestRepeatedAttemptSpends checks that the I/O of an attempt that is repeated is recorded, and that the next attempt
// begins with the remaining credits.
func TestRepeatedAttemptSpends(t *testing.T) {
	run, planned := begun(t, builders.Benchmark("b").Target("a").Throughput("20M", "300M", "30G", "10M").Steady("write", "10s"))
	step := planned.Steps[0]
	attempt := first(step)
	attempt.Number = 2
	record.Retry(run, step, decide.Action{Attempt: attempt, Reason: "a client was lost"}, []result.Client{writer(0).Obj()}, builders.Start.Add(time.Minute))
	again := builders.Client("a", 0).Later(time.Minute).Does(10, measure.Write, builders.Counter(2000, 65536), 4*time.Millisecond)
	record.Result(run, step, attempt, []result.Client{again.Obj()}, builders.Start.Add(2*time.Minute))
	const each = 10 * 2000 * 65536 // bytes of an attempt
	for i, fact := range run.Status.Steps {
		if len(fact.IO) != 1 || fact.IO[0].Bytes != each || fact.FirstIOTime == nil || fact.LastIOTime == nil {
			t.Fatalf("attempt %d: %+v", i+1, fact)
		}
	}
	// Within a minute, credits come back at 10 MB/s.
	const want = 100 - (each-60*10e6)/30e9*100
	if got := run.Status.Steps[1].IO[0].CreditPercentAtStart; got == nil || math.Abs(float64(*got)-want) > 1 {
		t.Errorf("attempt 2 begins at %v %%, want %.1f", got, want)
	}
	check(t, run)
}

func TestFirstFailureStays(t *testing.T) {
	run, _ := begun(t, usual())
	var checker invariants.Checker
	record.Fail(run, decide.Failure{Reason: "NoSpace", Message: "step 00-layout: client a/1: the volume is full"}, builders.Start.Add(1700*time.Millisecond))
	checker.Check(t, run)
	record.Fail(run, decide.Failure{Reason: v1alpha1.ReasonStopped, Message: "interrupted"}, builders.Start.Add(time.Minute))
	checker.Check(t, run)
	record.Finished(run, nil, builders.Start.Add(2*time.Minute))
	checker.Check(t, run)
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	if failed.Reason != v1alpha1.ReasonNotEnoughSpace || failed.Message != "step 00-layout: client a/1: the volume is full (NoSpace)" ||
		!failed.LastTransitionTime.Equal(&metav1.Time{Time: builders.Start.Add(time.Second)}) {
		t.Errorf("Failed is %+v", failed)
	}
	if complete := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionComplete); complete.Reason != v1alpha1.ReasonNotEnoughSpace {
		t.Errorf("Complete is %+v", complete)
	}
}

// TestFailuresOfAgents checks that a protocol violation by an agent is not reported as a failure of the user's step.
func TestFailuresOfAgents(t *testing.T) {
	for _, reason := range []string{"BadRecord", "BadResult", "ProtocolMismatch", "WrongAgent", "BadAddress"} {
		run, _ := begun(t, usual())
		record.Fail(run, decide.Failure{Reason: reason, Message: "client a/1"}, builders.Start)
		check(t, run)
		if failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed); failed.Reason != v1alpha1.ReasonInternalError || failed.Message != "client a/1 ("+reason+")" {
			t.Errorf("%s became %s: %s", reason, failed.Reason, failed.Message)
		}
	}
}

// TestHostileFailures checks that nonsensical reasons and messages of a failure are recorded safely.
func TestHostileFailures(t *testing.T) {
	for _, reason := range []string{"", "no space", "X\n", strings.Repeat("x", 5000), "99", "Unheard"} {
		run, _ := begun(t, usual())
		record.Fail(run, decide.Failure{Reason: reason, Message: strings.Repeat("\u00e9\xff", 5000)}, builders.Start)
		check(t, run)
		if failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed); failed.Reason != v1alpha1.ReasonStepFailed {
			t.Errorf("%q became %s", reason, failed.Reason)
		}
		if reason == "Unheard" && !strings.HasSuffix(run.Status.Message, "... (Unheard)") {
			t.Errorf("the message lacks the word: %s", run.Status.Message)
		}
	}
}

func lostClient(index, replacements int, message string) decide.Client {
	return decide.Client{Key: decide.ClientKey{Target: "a", Index: index}, Connection: decide.Lost, Message: message, Replacements: replacements}
}

func TestLossesAreNotedOnce(t *testing.T) {
	run, planned := begun(t, usual())
	record.Intent(run, planned.Steps[0], decide.Action{Attempt: first(planned.Steps[0]), Start: builders.Start, Deadline: builders.Start.Add(time.Minute)})
	clients := []decide.Client{lostClient(1, 0, "killed"), {Key: decide.ClientKey{Target: "a"}, Connection: decide.Ready}}
	record.Losses(run, clients, builders.Start)
	record.Losses(run, clients, builders.Start.Add(time.Second))
	record.Lost(run, clients[0], true, builders.Start.Add(time.Second))
	// The operator dies while it replaces the client, and its successor sees the lost client again.
	record.Losses(run, clients, builders.Start.Add(2*time.Second))
	if got := run.Status.LostClients; len(got) != 1 || !got[0].Replaced || got[0].Step != "00-layout" || got[0].Reason != "killed" || !got[0].Time.Time.Equal(builders.Start) {
		t.Fatalf("after one loss: %+v", got)
	}
	lostAt := func() time.Time {
		snapshot, err := record.Snapshot(run, planned, clients)
		if err != nil {
			t.Fatal(err)
		}
		return snapshot.LostAt[clients[0].Key]
	}
	if at := lostAt(); !at.IsZero() {
		t.Errorf("the replacement is lost at %s", at)
	}
	record.Losses(run, []decide.Client{lostClient(1, 1, "killed again")}, builders.Start.Add(3*time.Second))
	if got := run.Status.LostClients; len(got) != 2 || got[1].Replaced || got[1].Reason != "killed again" {
		t.Fatalf("after the loss of the replacement: %+v", got)
	}
	if at := lostAt(); !at.Equal(builders.Start.Add(3 * time.Second)) {
		t.Errorf("the replacement is lost at %s", at)
	}
	record.Finishing(run, builders.Start.Add(4*time.Second))
	record.Losses(run, []decide.Client{lostClient(0, 0, "it left")}, builders.Start.Add(5*time.Second))
	if got := run.Status.LostClients; len(got) != 2 {
		t.Errorf("a client that left while the run tidied up is lost: %+v", got)
	}
	check(t, run)
}

// TestLostAfterTheConclusion checks that a client has a complete result if it is lost after it was stopped because the
// step had measured enough, while another client still completes its operations. A client that was lost before has
// none.
func TestLostAfterTheConclusion(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Clients(2).OnLoss(v1alpha1.OnLossContinueDegraded, 0)
	run, planned := begun(t, benchmark.Steady("write", "1m"))
	step := planned.Steps[len(planned.Steps)-1]
	intent := decide.Action{Attempt: first(step), Start: builders.Start, Deadline: builders.Start.Add(time.Minute)}
	for after, want := range map[time.Duration]int32{9 * time.Second: 1, 11 * time.Second: 2} {
		run := run.DeepCopy()
		record.Intent(run, step, intent)
		record.Losses(run, []decide.Client{lostClient(0, 0, "evicted")}, builders.Start.Add(after))
		record.Conclude(run, decide.Action{Attempt: first(step), Reason: "it was steady"}, builders.Start.Add(10*time.Second))
		clients := []result.Client{writer(0).Stopped("told to").Obj(), writer(1).Stopped("told to").Obj()}
		record.Result(run, step, first(step), clients, builders.Start.Add(40*time.Second))
		if got := run.Status.Phases[0].Targets[0]; got.Clients != want {
			t.Errorf("lost after %s: the result is of %d clients: %v", after, got.Clients, got.Warnings)
		}
	}
}

// TestResultTwice checks that recording a result again changes nothing. That happens if a process is killed before the
// result is stored.
func TestResultTwice(t *testing.T) {
	run, planned := begun(t, usual())
	step := planned.Steps[0]
	clients := []result.Client{writer(0).Obj(), writer(1).Obj()}
	record.Result(run, step, first(step), clients, builders.Start.Add(12*time.Second))
	once, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	record.Result(run, step, first(step), clients, builders.Start.Add(12*time.Second))
	twice, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if string(once) != string(twice) {
		t.Errorf("first  %s\nsecond %s", once, twice)
	}
	check(t, run)
}

// TestPhaseTimes checks that a phase whose targets take turns lasts from its first step to its last.
func TestPhaseTimes(t *testing.T) {
	run, planned := begun(t, builders.Benchmark("b").Target("a").Target("b").Steady("write", "10s").Sequential())
	for i, step := range planned.Steps {
		client := builders.Client(step.Targets[0], 0).Later(time.Duration(i)*time.Minute).Does(10, measure.Write, builders.Counter(2000, 65536), time.Millisecond)
		record.Result(run, step, first(step), []result.Client{client.Obj()}, builders.Start.Add(time.Hour))
	}
	phase := run.Status.Phases[0]
	if len(phase.Targets) != 2 || !phase.StartTime.Time.Equal(builders.Start) || !phase.EndTime.Time.Equal(builders.Start.Add(70*time.Second)) {
		t.Errorf("phase from %s to %s with %d targets", phase.StartTime, phase.EndTime, len(phase.Targets))
	}
	check(t, run)
}

// TestEndWithoutAllSteps checks that a run that ends before all steps have results is not complete.
func TestEndWithoutAllSteps(t *testing.T) {
	run, planned := begun(t, usual())
	record.Result(run, planned.Steps[0], first(planned.Steps[0]), []result.Client{writer(0).Obj(), writer(1).Obj()}, builders.Start)
	record.Finished(run, nil, builders.Start)
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	if failed.Status != metav1.ConditionTrue || failed.Reason != v1alpha1.ReasonInternalError || !strings.Contains(failed.Message, "01-write") {
		t.Errorf("Failed is %+v", failed)
	}
	check(t, run)
}

// TestMissingClientDisqualifies checks that a run is invalid if an expected client does not take part in a step.
func TestMissingClientDisqualifies(t *testing.T) {
	run, planned := begun(t, usual())
	for _, step := range planned.Steps {
		record.Result(run, step, first(step), []result.Client{writer(0).Obj()}, builders.Start)
	}
	record.Finished(run, nil, builders.Start)
	valid := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionValid)
	if valid.Status != metav1.ConditionFalse || valid.Reason != string(v1alpha1.WarningResultIncomplete) || !strings.Contains(valid.Message, "client 1: did not take part") {
		t.Errorf("Valid is %+v", valid)
	}
	if state := run.Status.Steps[0]; state.State != v1alpha1.StepFailed || state.Message != "client a/1 did not take part" {
		t.Errorf("step %+v", state)
	}
	check(t, run)
}

func TestDataRemoved(t *testing.T) {
	many := slices.Repeat([]v1alpha1.DataLeft{{Target: "a", Path: "/mnt/" + strings.Repeat("x", 5000), Reason: strings.Repeat("y", 5000)}}, 100)
	for name, test := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		left      []v1alpha1.DataLeft
		status    metav1.ConditionStatus
		reason    string
		message   string
	}{
		"deleted":  {usual(), nil, metav1.ConditionTrue, v1alpha1.ReasonRemoved, ""},
		"retained": {usual().Retain(), nil, metav1.ConditionTrue, v1alpha1.ReasonRetained, ""},
		"some of each": {builders.Benchmark("b").Target("a").Target("b").Retain().Prepare("layout"), nil,
			metav1.ConditionTrue, v1alpha1.ReasonRemoved, "kept because of dataPolicy Retain: b"},
		"one left": {usual(), []v1alpha1.DataLeft{{Target: "a", Path: "/mnt/a", Reason: "permission denied"}},
			metav1.ConditionFalse, v1alpha1.ReasonRemovalFailed, "data could not be removed from 1 place; the first: /mnt/a: permission denied"},
		"a device": {usual(), []v1alpha1.DataLeft{{Target: "a", Path: "/dev/storagebench/disk", Reason: "wipe it"}},
			metav1.ConditionFalse, v1alpha1.ReasonRemovalFailed, "data could not be removed from 1 place; the first: /dev/storagebench/disk: wipe it"},
		"many left": {usual(), many, metav1.ConditionFalse, v1alpha1.ReasonRemovalFailed, "data could not be removed from 100 places"},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := begun(t, test.benchmark)
			record.Fail(run, decide.Failure{Reason: v1alpha1.ReasonStopped, Message: "interrupted"}, builders.Start)
			record.Finishing(run, builders.Start)
			record.Finished(run, test.left, builders.Start)
			got := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionDataRemoved)
			if got.Status != test.status || got.Reason != test.reason || !strings.HasPrefix(got.Message, test.message) {
				t.Errorf("DataRemoved is %+v", got)
			}
			check(t, run)
		})
	}
}

// TestEnvironments checks that the environments of a thousand different clients stay within the API's limits, and that
// the number of their clients stays correct.
func TestEnvironments(t *testing.T) {
	run, _ := begun(t, usual())
	var found []v1alpha1.Environment
	for i := range 1000 {
		long := fmt.Sprintf("%d%s", i, strings.Repeat("\u00e9", 5000))
		found = append(found, v1alpha1.Environment{Target: "a", Clients: 1, AgentVersion: long, Engine: "made up", ToolVersion: long,
			Kernel: long, Architecture: long, Volumes: slices.Repeat([]v1alpha1.MountedVolume{{Name: long, FileSystem: long, Source: long, Options: long}}, 20)})
	}
	record.Environments(run, found)
	var clients int32
	for _, one := range run.Status.Environments {
		clients += one.Clients
	}
	if clients != 1000 {
		t.Errorf("%d clients", clients)
	}
	record.Fail(run, decide.Failure{Reason: v1alpha1.ReasonStopped, Message: "interrupted"}, builders.Start)
	record.Finished(run, nil, builders.Start)
	check(t, run)
}

// TestOtherTools checks that a run warns once if a replacement has another tool version than the run began with, and
// does not warn about other clients.
func TestOtherTools(t *testing.T) {
	for name, test := range map[string]struct {
		began, now string
		replaced   bool
		warnings   int
	}{
		"an upgraded replacement": {"fio-3.33", "fio-3.39", true, 1},
		"the same version":        {"fio-3.33", "fio-3.33", true, 0},
		"not known yet":           {"fio-3.33", "", true, 0},
		"not known at the start":  {"", "fio-3.39", true, 0},
		"nothing replaced":        {"fio-3.33", "fio-3.39", false, 0},
	} {
		run, _ := begun(t, usual())
		environment := func(version string) []v1alpha1.Environment {
			return []v1alpha1.Environment{{Target: "a", Clients: 2, Engine: "fio", ToolVersion: version}}
		}
		record.Environments(run, environment(test.began))
		record.Lost(run, decide.Client{Key: decide.ClientKey{Target: "a"}}, test.replaced, builders.Start)
		record.OtherTools(run, environment(test.now))
		record.OtherTools(run, environment(test.now))
		got := run.Status.Warnings
		if len(got) != test.warnings || len(got) > 0 && got[0].Type != v1alpha1.WarningToolVersionsDiffer {
			t.Errorf("%s: warnings %+v", name, got)
		}
		check(t, run)
	}
}

// TestEnvironmentsHideUsers checks that recorded mount options contain no user names.
func TestEnvironmentsHideUsers(t *testing.T) {
	run, _ := begun(t, usual())
	record.Environments(run, []v1alpha1.Environment{{Target: "a", Clients: 1, Volumes: []v1alpha1.MountedVolume{
		{Name: "share", Options: "rw,vers=3.1.1,username=joe,domain=CORP"}, {Name: "unknown"}}}})
	volumes := run.Status.Environments[0].Volumes
	if got, want := volumes[0].Options, "rw,vers=3.1.1,username=...,domain=CORP"; got != want || volumes[1].Options != "" {
		t.Errorf("options %q and %q, want %q and none", got, volumes[1].Options, want)
	}
	check(t, run)
}

// TestThousandClients combines all warnings and failures of a thousand clients in every phase of a long run, and the
// loss of hundreds of them. The status must stay within 64 KiB and the API's limits, and keep disqualifying warnings.
func TestThousandClients(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Clients(1000).OnLoss(v1alpha1.OnLossContinueDegraded, 0)
	for i := range 12 {
		benchmark.Steady(fmt.Sprintf("phase-%d", i), "10s")
	}
	run, planned := begun(t, benchmark)
	long := func(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat("\u00e9\xff ", 2000)) }
	var losses []decide.Client
	var clients []result.Client
	for i := range 1000 {
		client := writer(i).Notice("IOStalled", long(i)).Notice("ToolMessages", long(i)).Notice("DirectIONotHonoured", long(i)).
			Notice("SamplesLost", long(i)).Notice("TooFewSamples", long(i)).Notice("BytesUncertain", long(i))
		switch i % 5 {
		case 1:
			client.Failed("NoSpace", long(i))
		case 2:
			client.Lost(long(i))
			losses = append(losses, lostClient(i, 0, long(i)))
		case 3:
			client.Stopped(long(i))
		}
		clients = append(clients, client.Obj())
	}
	record.Losses(run, losses, builders.Start)
	for _, step := range planned.Steps {
		record.Intent(run, step, decide.Action{Attempt: first(step), Start: builders.Start, Deadline: builders.Start.Add(time.Minute)})
		record.Result(run, step, first(step), clients, builders.Start)
	}
	record.Finished(run, nil, builders.Start)
	check(t, run)
	for _, phase := range run.Status.Phases {
		for _, kind := range []v1alpha1.WarningType{v1alpha1.WarningDirectIONotHonoured, v1alpha1.WarningToolError, v1alpha1.WarningResultIncomplete} {
			if !slices.ContainsFunc(phase.Targets[0].Warnings, func(w v1alpha1.Warning) bool { return w.Type == kind && w.Message != "" }) {
				t.Errorf("phase %s has lost %s", phase.Name, kind)
			}
		}
	}
	if len(run.Status.LostClients) != 64 {
		t.Errorf("%d lost clients", len(run.Status.LostClients))
	}
}

// TestRelayoutOfSmallFiles checks that the loss of a client repeats only the step that created the files of the current
// step.
func TestRelayoutOfSmallFiles(t *testing.T) {
	files := builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
		p.Pattern, p.QueueDepth, p.FilesPerJob = v1alpha1.FioSequential, nil, new(int32(64))
	})
	phase := v1alpha1.Phase{Name: "files", SmallFiles: &v1alpha1.SmallFilesPhase{}}
	const create, write = "00-000-files-create", "00-002-files-write"
	for ended, want := range []string{"", create, "", write, write, ""} {
		run, planned := begun(t, builders.Benchmark("b").Target("a").Clients(2).Workload(files).Phase(phase))
		for _, step := range planned.Steps[:ended] {
			record.Result(run, step, first(step), []result.Client{writer(0).Obj(), writer(1).Obj()}, builders.Start)
		}
		record.Relayout(run, "a")
		record.Relayout(run, "a") // like an operator whose predecessor died before it replaced the client
		again := ""
		for _, fact := range run.Status.Steps {
			if fact.Attempt > 1 {
				again += fact.ID
			}
		}
		if again != want {
			t.Errorf("lost after %d of %d steps: repeated %q, want %q", ended, len(planned.Steps), again, want)
		}
		check(t, run)
	}
}

// TestManyAttempts checks that the oldest repeated attempts are dropped from the status, without losing the state of a
// step.
func TestManyAttempts(t *testing.T) {
	run, planned := begun(t, usual())
	attempt := first(planned.Steps[0])
	for range 1500 {
		attempt.Number++
		record.Retry(run, planned.Steps[0], decide.Action{Attempt: attempt}, nil, builders.Start)
	}
	snapshot, err := record.Snapshot(run, planned, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := snapshot.Records["00-layout"]; got.Attempt != 1501 || got.Done {
		t.Errorf("record %+v", got)
	}
	check(t, run)
}
