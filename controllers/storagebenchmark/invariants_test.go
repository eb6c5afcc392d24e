package storagebenchmark

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// checkBenchmark checks the invariants that hold for every benchmark the controller has observed.
func checkBenchmark(tb testing.TB, benchmark *v1alpha1.StorageBenchmark) {
	tb.Helper()
	status := &benchmark.Status
	if status.ObservedGeneration < 0 {
		return
	}
	order := []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionRunning,
		v1alpha1.ConditionRegressed}
	at := -1
	for _, condition := range status.Conditions {
		position := slices.Index(order, condition.Type)
		if position <= at {
			tb.Errorf("condition %s is unknown, there twice or out of order", condition.Type)
		}
		at = position
		if condition.Reason == "" || condition.LastTransitionTime.IsZero() || condition.ObservedGeneration == 0 {
			tb.Errorf("condition %s is not complete: %+v", condition.Type, condition)
		}
		if len([]rune(condition.Message)) > maxMessage {
			tb.Errorf("condition %s has a message of %d characters", condition.Type, len(condition.Message))
		}
		abnormal := condition.Type == v1alpha1.ConditionStalled || condition.Type == v1alpha1.ConditionReconciling
		if abnormal && condition.Status != metav1.ConditionTrue {
			tb.Errorf("condition %s is %s: it is True or absent", condition.Type, condition.Status)
		}
	}
	ready, running := find(status.Conditions, v1alpha1.ConditionReady), find(status.Conditions, v1alpha1.ConditionRunning)
	if ready == nil || running == nil {
		tb.Errorf("Ready or Running is absent: %+v", status.Conditions)
		return
	}
	if running.Status == metav1.ConditionTrue && (status.ActiveRun == nil || status.ActiveRun.UID == "") {
		tb.Error("Running is True without a run that exists")
	}
	if ready.Status == metav1.ConditionTrue && (status.LastRun == nil || status.LastRun.Reason != v1alpha1.ReasonPassed) {
		tb.Error("Ready is True without a run that passed")
	}
	stalled := find(status.Conditions, v1alpha1.ConditionStalled)
	if ready.Status == metav1.ConditionFalse && stalled == nil {
		tb.Error("Ready is False, and nothing is Stalled: kstatus would wait for ever")
	}
	if regressed := find(status.Conditions, v1alpha1.ConditionRegressed); status.ObservedGeneration == benchmark.Generation &&
		(regressed != nil) != (benchmark.Spec.Regression != nil) {
		tb.Errorf("Regressed is %+v, and spec.regression %+v", regressed, benchmark.Spec.Regression)
	}
	if status.Stage == "" {
		tb.Error("there is no stage")
	}
	encoded, err := json.Marshal(status)
	if err != nil {
		tb.Fatal(err)
	}
	if len(encoded) > maxStatusBytes {
		tb.Errorf("the status has %d bytes", len(encoded))
	}
}
