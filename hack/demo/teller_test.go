package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func TestTellsEachThingOnce(t *testing.T) {
	var lines []string
	at := time.Unix(0, 0)
	told := teller{now: func() time.Time { return at }, steps: map[string]bool{}, say: func(format string, arguments ...any) {
		lines = append(lines, fmt.Sprintf(format, arguments...))
	}}
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "00-layout", Phase: "layout"}, {ID: "01-write", Phase: "write"}}
	show := func(stage, message string) {
		run.Status.Stage, run.Status.Message = stage, message
		told.run(run)
		told.run(run)
	}
	show("", "")
	show("Connecting", "")
	at = at.Add(3 * time.Second)
	show("Connecting", "waiting for 1 of 4 clients")
	show("Running", "layout: 3s, 100.0 MB/s, 1600 IOPS")
	now := metav1.NowMicro()
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "00-layout", Attempt: 1, State: v1alpha1.StepSucceeded, EndTime: &now}}
	run.Status.Phases = []v1alpha1.PhaseResult{{Name: "layout", Targets: []v1alpha1.TargetResult{{
		Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationWrite, BytesPerSecond: new(int64(123400000))}},
	}}}}
	at = at.Add(time.Second)
	show("Running", "layout: 4s, 101.0 MB/s, 1601 IOPS")
	at = at.Add(2 * time.Second)
	show("Running", "write: 3s of 12s, 90.0 MB/s, 1400 IOPS")
	run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: "01-write", Attempt: 1, State: v1alpha1.StepFailed,
		Message: "the volume is full", EndTime: &now})
	at = at.Add(3 * time.Second)
	show("Running", strings.Repeat("x", 200))
	show("Failed", "write: 3s of 12s, 90.0 MB/s, 1400 IOPS")
	want := []string{
		"Connecting",
		"Connecting: waiting for 1 of 4 clients",
		"Running: layout: 3s, 100.0 MB/s, 1600 IOPS",
		"step 1 of 2 (layout) is done, Write 123.4 MB/s",
		"Running: write: 3s of 12s, 90.0 MB/s, 1400 IOPS",
		"step 2 of 2 (write) failed: the volume is full",
		"Running: " + strings.Repeat("x", 160) + " ...",
		"Failed",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJudged(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status}
	}
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		observed   int64
		want       bool
	}{
		"not seen yet":                     {nil, -1, false},
		"not judged":                       {[]metav1.Condition{condition("Ready", "Unknown"), condition("Reconciling", "True")}, 1, false},
		"good":                             {[]metav1.Condition{condition("Ready", "True"), condition("Running", "False")}, 1, true},
		"bad":                              {[]metav1.Condition{condition("Ready", "False"), condition("Stalled", "True")}, 1, true},
		"good before, and it runs again":   {[]metav1.Condition{condition("Ready", "True"), condition("Running", "True")}, 1, false},
		"a verdict on what it was earlier": {[]metav1.Condition{condition("Ready", "True")}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &v1alpha1.StorageBenchmark{}
			seen.Generation = 1
			seen.Status.ObservedGeneration, seen.Status.Conditions = test.observed, test.conditions
			if got := judged(seen); got != test.want {
				t.Errorf("judged is %v, want %v", got, test.want)
			}
		})
	}
}
