package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// teller says what is new in the objects that it is shown, each thing once.
type teller struct {
	say func(format string, arguments ...any)
	// last is the newest line about the run, and about the benchmark.
	last, lastReady string
	// steps are the attempts whose end was told.
	steps map[string]bool
}

func (t *teller) benchmark(b *v1alpha1.StorageBenchmark) {
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return
	}
	if line := fmt.Sprintf("Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message); line != t.lastReady {
		t.lastReady = line
		t.say("%s", line)
	}
}

func (t *teller) run(run *v1alpha1.BenchmarkRun) {
	for _, step := range run.Status.Steps {
		name := fmt.Sprintf("%s#%d", step.ID, step.Attempt)
		if step.EndTime == nil || t.steps[name] {
			continue
		}
		t.steps[name] = true
		t.say("%s", ended(run, step))
	}
	line := run.Status.Stage
	if run.Status.Message != "" {
		line += ": " + run.Status.Message
	}
	if line != "" && line != t.last {
		t.last = line
		t.say("%s", line)
	}
}

// ended is what came out of a step.
func ended(run *v1alpha1.BenchmarkRun, step v1alpha1.StepStatus) string {
	at := slices.IndexFunc(run.Spec.Steps, func(s v1alpha1.ResolvedStep) bool { return s.ID == step.ID })
	if at < 0 {
		return step.ID
	}
	phase := run.Spec.Steps[at].Phase
	text := fmt.Sprintf("step %d of %d, %s, is done", at+1, len(run.Spec.Steps), phase)
	if step.State != v1alpha1.StepSucceeded {
		text = fmt.Sprintf("step %d of %d, %s, %s: %s", at+1, len(run.Spec.Steps), phase, strings.ToLower(string(step.State)), step.Message)
	}
	for _, result := range run.Status.Phases {
		if result.Name != phase {
			continue
		}
		for _, target := range result.Targets {
			for _, operation := range target.Operations {
				if operation.BytesPerSecond != nil {
					text += fmt.Sprintf(", %s %s", operation.Operation, measure.FormatBytesPerSecond(float64(*operation.BytesPerSecond)))
				}
			}
		}
	}
	return text
}
