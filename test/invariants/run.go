// Package invariants checks what must be true of every BenchmarkRun at any time. All tests that write runs use it.
package invariants

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
)

const (
	maxMessage     = 1024
	maxStatusBytes = 64 << 10
	// maxLongStatusBytes applies to runs of more than longRun steps.
	maxLongStatusBytes = 384 << 10
	longRun            = 64
)

var (
	reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

	types = []string{v1alpha1.ConditionComplete, v1alpha1.ConditionFailed, v1alpha1.ConditionValid,
		v1alpha1.ConditionObjectivesMet, v1alpha1.ConditionDataRemoved}

	failures = []string{v1alpha1.ReasonStartTimeout, v1alpha1.ReasonDeadlineExceeded, v1alpha1.ReasonStepFailed,
		v1alpha1.ReasonToolFailed, v1alpha1.ReasonInvalidWorkload, v1alpha1.ReasonMountNotFound, v1alpha1.ReasonNotEnoughSpace,
		v1alpha1.ReasonClientLost, v1alpha1.ReasonPreempted, v1alpha1.ReasonReplaced, v1alpha1.ReasonStopped, v1alpha1.ReasonInternalError}

	stages = []string{v1alpha1.StagePending, v1alpha1.StageQueued, v1alpha1.StageConnecting,
		v1alpha1.StageRunning, v1alpha1.StageFinishing, v1alpha1.StageComplete, v1alpha1.StageFailed}
)

// Checker checks one run repeatedly as it progresses, because some facts must never be taken back.
type Checker struct {
	failed *metav1.Condition
	ended  bool
}

// Check checks the current state of the run.
func (c *Checker) Check(tb testing.TB, run *v1alpha1.BenchmarkRun) {
	tb.Helper()
	status := &run.Status
	is := func(kind string, value metav1.ConditionStatus) bool {
		return meta.IsStatusConditionPresentAndEqual(status.Conditions, kind, value)
	}
	if is(v1alpha1.ConditionComplete, metav1.ConditionTrue) && is(v1alpha1.ConditionFailed, metav1.ConditionTrue) {
		tb.Error("the run is both Complete and Failed")
	}
	if !slices.Contains(stages, status.Stage) {
		tb.Errorf("stage %q is not documented", status.Stage)
	}
	seen := map[string]bool{}
	for _, condition := range status.Conditions {
		checkCondition(tb, condition)
		if seen[condition.Type] {
			tb.Errorf("condition %s is there twice", condition.Type)
		}
		seen[condition.Type] = true
	}
	c.checkFailure(tb, run)
	if c.ended = c.ended || status.EndTime != nil; c.ended {
		checkEnd(tb, run)
	}
}

func checkCondition(tb testing.TB, condition metav1.Condition) {
	tb.Helper()
	switch {
	case !slices.Contains(types, condition.Type) && condition.Type != v1alpha1.ConditionWaiting &&
		condition.Type != v1alpha1.ConditionObjectsDeleted:
		tb.Errorf("condition %s is not documented", condition.Type)
	case !reasonPattern.MatchString(condition.Reason):
		tb.Errorf("condition %s has the reason %q, which the API refuses", condition.Type, condition.Reason)
	case condition.LastTransitionTime.IsZero():
		tb.Errorf("condition %s has no time", condition.Type)
	case len([]rune(condition.Message)) > maxMessage:
		tb.Errorf("condition %s has a message of %d characters", condition.Type, len([]rune(condition.Message)))
	}
}

// checkFailure checks that the first failure never changes.
func (c *Checker) checkFailure(tb testing.TB, run *v1alpha1.BenchmarkRun) {
	tb.Helper()
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	if failed == nil || failed.Status != metav1.ConditionTrue {
		if c.failed != nil {
			tb.Errorf("the failure %s was taken back", c.failed.Reason)
		}
		return
	}
	if !slices.Contains(failures, failed.Reason) {
		tb.Errorf("the failure %s is not documented", failed.Reason)
	}
	if failed.Message == "" {
		tb.Errorf("the failure %s says nothing", failed.Reason)
	}
	if c.failed != nil && (c.failed.Reason != failed.Reason || c.failed.Message != failed.Message || !c.failed.LastTransitionTime.Equal(&failed.LastTransitionTime)) {
		tb.Errorf("the failure was %v and became %v", c.failed, failed)
	}
	c.failed = failed.DeepCopy()
}

// checkEnd checks that the status of a run that has ended is complete.
func checkEnd(tb testing.TB, run *v1alpha1.BenchmarkRun) {
	tb.Helper()
	for _, kind := range types {
		condition := meta.FindStatusCondition(run.Status.Conditions, kind)
		if condition == nil {
			tb.Errorf("the run is over without the condition %s", kind)
			continue
		}
		if condition.Reason == v1alpha1.ReasonInProgress {
			tb.Errorf("the run is over, and %s is still in progress", kind)
		}
	}
	complete := meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete)
	if failed := meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFailed); complete == failed {
		tb.Errorf("the run is over: Complete is %t and Failed is %t", complete, failed)
	}
	if wanted := map[bool]string{true: v1alpha1.StageComplete, false: v1alpha1.StageFailed}[complete]; run.Status.Stage != wanted {
		tb.Errorf("the run is over in stage %s, not %s", run.Status.Stage, wanted)
	}
	if run.Status.EndTime == nil {
		tb.Error("the end of the run was taken back")
	}
	if complete {
		for _, phase := range run.Spec.Run.Phases {
			if !slices.ContainsFunc(run.Status.Phases, func(r v1alpha1.PhaseResult) bool { return r.Name == phase.Name }) {
				tb.Errorf("the run is complete without a result of phase %s", phase.Name)
			}
		}
	}
	checkValid(tb, run)
}

// checkValid checks that a run with a disqualifying warning is not Valid.
func checkValid(tb testing.TB, run *v1alpha1.BenchmarkRun) {
	tb.Helper()
	disqualified := false
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			disqualified = disqualified || slices.ContainsFunc(target.Warnings, func(w v1alpha1.Warning) bool {
				return w.Severity == v1alpha1.SeverityDisqualifying
			})
		}
	}
	if valid := meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionValid); valid && disqualified {
		tb.Error("the run is Valid and has a warning that disqualifies it")
	}
}

// CheckObject checks the run against the API's own rules and the limit for the size of its status. It takes some
// milliseconds.
func CheckObject(tb testing.TB, run *v1alpha1.BenchmarkRun) {
	tb.Helper()
	encoded, err := json.Marshal(run)
	if err != nil {
		tb.Fatal(err)
	}
	status, err := json.Marshal(run.Status)
	if err != nil {
		tb.Fatal(err)
	}
	most := maxStatusBytes
	if len(run.Spec.Steps) > longRun {
		most = maxLongStatusBytes
	}
	if len(status) > most {
		tb.Errorf("the status has %d bytes", len(status))
	}
	var object, before map[string]any
	for _, into := range []*map[string]any{&object, &before} {
		if err := utiljson.Unmarshal(encoded, into); err != nil {
			tb.Fatal(err)
		}
	}
	problems, err := admission.CheckUpdate(tb.Context(), object, before)
	if err != nil {
		tb.Fatal(err)
	}
	for _, problem := range problems {
		tb.Errorf("the API refuses %s: %s", problem.Path, problem.Message)
	}
}
