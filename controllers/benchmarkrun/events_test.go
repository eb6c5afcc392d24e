package benchmarkrun

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestNews checks that each change of a run's status causes one event, and an unchanged status none.
func TestNews(t *testing.T) {
	at := new(metav1.NewMicroTime(time.Now()))
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Because", Message: "of this"}
	}
	live := func(change func(*v1alpha1.BenchmarkRunStatus)) *v1alpha1.BenchmarkRun {
		run := &v1alpha1.BenchmarkRun{}
		run.Status.StartTime = at
		change(&run.Status)
		return run
	}
	step := func(state v1alpha1.StepState) *v1alpha1.BenchmarkRun {
		return live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Steps = []v1alpha1.StepStatus{{ID: "0-drain", Attempt: 2, State: state, Message: "no space", Conclusion: "it fell"}}
		})
	}
	plain := live(func(*v1alpha1.BenchmarkRunStatus) {})
	for name, test := range map[string]struct {
		before, run *v1alpha1.BenchmarkRun
		// want lists the expected reasons, each followed by a part of the note.
		want []string
	}{
		"waits": {&v1alpha1.BenchmarkRun{}, &v1alpha1.BenchmarkRun{Status: v1alpha1.BenchmarkRunStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionWaiting, metav1.ConditionTrue)}}},
			[]string{"RunQueued of this"}},
		"its turn": {&v1alpha1.BenchmarkRun{Status: v1alpha1.BenchmarkRunStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionWaiting, metav1.ConditionTrue)}}},
			&v1alpha1.BenchmarkRun{Status: v1alpha1.BenchmarkRunStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionWaiting, metav1.ConditionFalse)}}},
			[]string{"RunAdmitted of this"}},
		"begins":     {&v1alpha1.BenchmarkRun{}, plain, []string{"RunStarted clients"}},
		"meets":      {plain, live(func(s *v1alpha1.BenchmarkRunStatus) { s.Environments = []v1alpha1.Environment{{Target: "a"}} }), []string{"ClientsReady all clients"}},
		"a step":     {step(v1alpha1.StepStarting), step(v1alpha1.StepRunning), []string{"StepStarted step 0-drain (attempt 2)"}},
		"its result": {step(v1alpha1.StepRunning), step(v1alpha1.StepSucceeded), []string{"StepSucceeded step 0-drain (attempt 2) completed, ended early: it fell"}},
		"its end":    {step(v1alpha1.StepRunning), step(v1alpha1.StepFailed), []string{"StepFailed no space"}},
		"a client": {plain, live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.LostClients = []v1alpha1.LostClient{{Target: "a", Client: 3, Reason: "its node is gone", Replaced: true}}
		}), []string{"ClientLost a/3 was lost and is being replaced: its node is gone"}},
		"a guest": {plain, live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Warnings = []v1alpha1.Warning{{Type: v1alpha1.WarningVolumeInUse, Message: "pod x"}, {Type: v1alpha1.WarningNotSteady}}
		}), []string{"VolumeInUse pod x"}},
		"knows little": {plain, live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Storage = []v1alpha1.StorageDescription{
				{Missing: []v1alpha1.MissingFact{{Field: "permission to read nodes"}, {Field: "documented.preset"}}},
				{Missing: []v1alpha1.MissingFact{{Field: "permission to read nodes"}, {Field: "permission to read persistentvolumes"}}}}
		}), []string{"DiscoveryDenied not allowed to read nodes, persistentvolumes,"}},
		"stops": {plain, live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Conditions = []metav1.Condition{condition(v1alpha1.ConditionFailed, metav1.ConditionTrue)}
		}), []string{"RunStopping Because: of this"}},
		"fails": {live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Conditions = []metav1.Condition{condition(v1alpha1.ConditionFailed, metav1.ConditionTrue)}
		}), live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Conditions = []metav1.Condition{condition(v1alpha1.ConditionFailed, metav1.ConditionTrue)}
			s.EndTime, s.DataLeft = at, []v1alpha1.DataLeft{{Path: "/data/x", Reason: "busy"}}
		}), []string{"RunFailed Because: of this", "DataLeft /data/x: busy"}},
		"is invalid": {plain, live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Conditions = []metav1.Condition{condition(v1alpha1.ConditionValid, metav1.ConditionFalse)}
			s.EndTime = at
		}), []string{"RunInvalid Because: of this"}},
		"is complete": {plain, live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Conditions = []metav1.Condition{condition(v1alpha1.ConditionValid, metav1.ConditionTrue)}
			s.EndTime = at
		}), []string{"RunComplete all phases"}},
		"cannot tidy up": {plain, live(func(s *v1alpha1.BenchmarkRunStatus) {
			s.Conditions = []metav1.Condition{condition(v1alpha1.ConditionObjectsDeleted, metav1.ConditionFalse)}
		}), []string{"ObjectsLeft of this"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := runEventsOf(test.run, test.before)
			same := slices.EqualFunc(got, test.want, func(told runEvent, want string) bool {
				reason, part, _ := strings.Cut(want, " ")
				return told.reason == reason && strings.Contains(told.note, part)
			})
			if !same {
				t.Errorf("got %+v, want %q", got, test.want)
			}
			if again := runEventsOf(test.run, test.run); len(again) > 0 {
				t.Errorf("sent twice: %+v", again)
			}
		})
	}
}

// TestEventsOfOneWrite checks that similar changes in one status share one event that names them all: of several
// similar events, the recorder would keep the note of only one.
func TestEventsOfOneWrite(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	run.Status.EndTime = new(metav1.NowMicro())
	run.Status.LostClients = []v1alpha1.LostClient{
		{Target: "a", Client: 1, Reason: "evicted"}, {Target: "a", Client: 2, Reason: "evicted"}}
	run.Status.DataLeft = []v1alpha1.DataLeft{{Path: "/data/x", Reason: "busy"}, {Path: "/data/y", Reason: "busy"}}
	var notes []string
	for _, one := range runEventsOf(run, &v1alpha1.BenchmarkRun{}) {
		notes = append(notes, one.reason+" "+one.note)
	}
	want := []string{"ClientLost client a/1 was lost: evicted; client a/2 was lost: evicted",
		"RunComplete all phases completed", "DataLeft /data/x: busy; /data/y: busy"}
	if !slices.Equal(notes, want) {
		t.Errorf("got %q, want %q", notes, want)
	}
}

// TestNotesFit checks that long notes are cut to 1024 bytes: the API server rejects longer ones.
func TestNotesFit(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	r := &Reconciler{events: recorder}
	r.sendEvent(&v1alpha1.BenchmarkRun{}, "Normal", "Reason", "Act", "step %s: %s", "00-read", strings.Repeat("€", 900))
	note, whole := strings.CutPrefix(<-recorder.Events, "Normal Reason ")
	if !whole || len(note) > 1024 || !strings.HasPrefix(note, "step 00-read: €€") || !strings.HasSuffix(note, "€...") {
		t.Errorf("%d bytes: %s", len(note), note)
	}
}
