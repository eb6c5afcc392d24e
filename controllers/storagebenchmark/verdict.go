package storagebenchmark

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/trend"
)

const (
	// maxMessage is the maximum length, in characters, of the messages of conditions and verdicts. It is short because
	// users read the messages on a terminal, and because the size of the status is limited.
	maxMessage = 512
	// maxReason is the API's limit on the length of a verdict's reason.
	maxReason = 128
	// maxHeadlines is the API's limit on the number of headlines.
	maxHeadlines = 64
)

// verdict is the verdict on a run, with the results that it is based on.
type verdict struct {
	run        v1alpha1.JudgedRun
	objectives []v1alpha1.ObjectiveResult
	regression *v1alpha1.RegressionResult
	history    *v1alpha1.ComparedHistory
}

// verdictOn evaluates a run that has ended, both alone and in comparison with the other runs of its benchmark.
func verdictOn(obs observation, run *v1alpha1.BenchmarkRun) verdict {
	by := policyFor(obs, run)
	// Without spec.regression, keep the history, which is needed if spec.regression is set again.
	made := verdict{history: obs.benchmark.Status.History,
		run: v1alpha1.JudgedRun{RunReference: referenceTo(run), PolicyHash: by.hash()}}
	if len(by.objectives) > 0 {
		made.objectives = objective.Evaluate(by.objectives, &run.Spec, &run.Status)
	}
	last := obs.benchmark.Status.LastRun
	switch {
	case by.regression == nil:
	case last != nil && last.UID == string(run.UID) && by.comparesAs(last.PolicyHash) && obs.benchmark.Status.Regression != nil:
		// This run has already been compared with earlier runs. Keep that result, because the set of runs to compare
		// with has changed since then.
		made.regression = obs.benchmark.Status.Regression
	default:
		found := trend.Judge(made.history, storedRuns(obs), trend.RunOf(run), by.regression)
		made.regression, made.history = &found.Result, found.History
	}
	reason, message := judgement(run, &made)
	if len(reason) > maxReason {
		reason = v1alpha1.ReasonRunFailed
	}
	made.run.Reason, made.run.Message = reason, v1alpha1.Truncate(message, maxMessage)
	return made
}

func judgement(run *v1alpha1.BenchmarkRun, by *verdict) (reason, message string) {
	absent := &metav1.Condition{Status: metav1.ConditionUnknown}
	failed := cmp.Or(find(run.Status.Conditions, v1alpha1.ConditionFailed), absent)
	valid := cmp.Or(find(run.Status.Conditions, v1alpha1.ConditionValid), absent)
	met, why, message := objective.Condition(by.objectives)
	switch {
	case failed.Status == metav1.ConditionTrue:
		return failed.Reason, fmt.Sprintf("run %s failed: %s", run.Name, failed.Message)
	case !isTrue(run.Status.Conditions, v1alpha1.ConditionComplete):
		return v1alpha1.ReasonRunFailed, fmt.Sprintf("run %s ended without a Complete or Failed condition", run.Name)
	case valid.Status != metav1.ConditionTrue:
		return v1alpha1.ReasonRunInvalid, fmt.Sprintf("the results of run %s are not valid: %s: %s", run.Name, valid.Reason, valid.Message)
	case met == metav1.ConditionFalse:
		return v1alpha1.ReasonObjectiveMissed, fmt.Sprintf("run %s: %s", run.Name, message)
	case met != metav1.ConditionTrue:
		return v1alpha1.ReasonObjectiveMissed, fmt.Sprintf("run %s: %s: %s", run.Name, why, message)
	case by.regression != nil && by.regression.Verdict == v1alpha1.RegressionRegressed:
		return v1alpha1.ReasonRegressed, fmt.Sprintf("run %s: %s", run.Name, by.regression.Message)
	}
	return v1alpha1.ReasonPassed, fmt.Sprintf("run %s is complete and valid", run.Name)
}

// verdictOnDeleted returns the verdict on a run that a user stopped by deleting it before it was evaluated.
func verdictOnDeleted(obs observation, ref v1alpha1.RunReference) verdict {
	return verdict{history: obs.benchmark.Status.History, run: v1alpha1.JudgedRun{RunReference: ref, PolicyHash: policyOf(obs.benchmark).hash(),
		Reason: v1alpha1.ReasonStopped, Message: v1alpha1.Truncate(fmt.Sprintf(
			"run %s was deleted before it had a verdict; request another run with spec.trigger.manual or the annotation %s",
			ref.Name, v1alpha1.AnnotationRequestedAt), maxMessage)}}
}

func referenceTo(run *v1alpha1.BenchmarkRun) v1alpha1.RunReference {
	return v1alpha1.RunReference{Name: run.Name, UID: string(run.UID), Hash: run.Spec.Hash}
}

// headlinesOf returns the main figures of a run, in the order of its phases. For a drain, these are the figures of its
// baseline. Layouts are omitted, because their figures were not requested. If there are too many figures, headlinesOf
// drops the first ones, because the last phases are the purpose of a run.
func headlinesOf(run *v1alpha1.BenchmarkRun) []v1alpha1.Headline {
	var headlines []v1alpha1.Headline
	for _, phase := range run.Status.Phases {
		if phasekind.Of(phase.Kind).LaysOut {
			continue
		}
		for i := range phase.Targets {
			target := &phase.Targets[i]
			for _, operation := range phasekind.Rates(target) {
				headline := v1alpha1.Headline{Phase: phase.Name, Target: target.Target, Operation: operation.Operation,
					BytesPerSecond: operation.BytesPerSecond, IOPSMilli: operation.IOPSMilli}
				if headline.BytesPerSecond == nil && headline.IOPSMilli == nil {
					continue
				}
				if operation.Latency != nil {
					headline.P99Nanoseconds = operation.Latency.P99Nanoseconds
				}
				headlines = append(headlines, *headline.DeepCopy())
			}
		}
	}
	return headlines[max(0, len(headlines)-maxHeadlines):]
}

// keep stores a run's verdict and figures in the status of its benchmark.
func keep(status *v1alpha1.StorageBenchmarkStatus, judged verdict, run *v1alpha1.BenchmarkRun) {
	status.LastRun = &judged.run
	status.Headlines, status.Display = nil, nil
	status.Objectives, status.Regression, status.History = judged.objectives, judged.regression, judged.history
	if run != nil {
		status.Headlines = headlinesOf(run)
		status.Display = result.Headline(run)
	}
}
