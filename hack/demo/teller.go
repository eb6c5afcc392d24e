package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// quiet is the minimum time between two lines about the same stage.
	quiet = 3 * time.Second
	// widest is the maximum number of characters of a message. Longer messages, such as one that lists many clients, are
	// truncated.
	widest = 160
)

// teller prints the changes in the status of a benchmark and its run. After a line about a stage, it prints no further
// line about that stage until quiet has passed.
type teller struct {
	say func(format string, arguments ...any)
	now func() time.Time
	// stage and last are the most recently printed stage and line of the run. lastReady is the most recently printed
	// line of the benchmark.
	stage, last, lastReady string
	told                   time.Time
	// steps holds the step attempts, as ID#ATTEMPT, whose outcome has been printed.
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
	if message := run.Status.Message; message != "" && underWay[run.Status.Stage] {
		line += ": " + shortened(message)
	}
	if line == "" || line == t.last || run.Status.Stage == t.stage && t.now().Sub(t.told) < quiet {
		return
	}
	t.stage, t.last, t.told = run.Status.Stage, line, t.now()
	t.say("%s", line)
}

// underWay holds the stages in which the run's message describes the current activity.
var underWay = map[string]bool{v1alpha1.StagePending: true, v1alpha1.StageQueued: true,
	v1alpha1.StageConnecting: true, v1alpha1.StageRunning: true}

func shortened(text string) string {
	if letters := []rune(text); len(letters) > widest {
		return string(letters[:widest]) + " ..."
	}
	return text
}

// ended describes the outcome of a step.
func ended(run *v1alpha1.BenchmarkRun, step v1alpha1.StepStatus) string {
	at := slices.IndexFunc(run.Spec.Steps, func(s v1alpha1.ResolvedStep) bool { return s.ID == step.ID })
	if at < 0 {
		return step.ID
	}
	phase := run.Spec.Steps[at].Phase
	text := fmt.Sprintf("step %d of %d (%s) is done", at+1, len(run.Spec.Steps), phase)
	if step.State != v1alpha1.StepSucceeded {
		text = fmt.Sprintf("step %d of %d (%s) %s: %s", at+1, len(run.Spec.Steps), phase, strings.ToLower(string(step.State)), step.Message)
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
