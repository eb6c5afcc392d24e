package metrics

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// conditions lists the exported conditions of a benchmark.
var conditions = []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionRunning, v1alpha1.ConditionRegressed}

var statuses = []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}

// Benchmark returns the state of a benchmark, its schedule and the verdicts on its newest run. runs are the existing
// runs of the benchmark.
func Benchmark(benchmark *v1alpha1.StorageBenchmark, runs []*v1alpha1.BenchmarkRun) []Point {
	p := points{common: []string{benchmark.Namespace, benchmark.Name}}
	for _, name := range conditions {
		at := slices.IndexFunc(benchmark.Status.Conditions, func(c metav1.Condition) bool { return c.Type == name })
		if at < 0 {
			continue
		}
		for _, status := range statuses {
			p.add(benchmarkCondition, boolValue(benchmark.Status.Conditions[at].Status == status), name, strings.ToLower(string(status)))
		}
	}
	p.add(benchmarkSuspended, boolValue(benchmark.Spec.Suspend != nil && *benchmark.Spec.Suspend))
	next, last, active := benchmark.Status.NextScheduleTime, benchmark.Status.LastScheduleTime, benchmark.Status.ActiveRun
	if last != nil {
		p.add(benchmarkLastScheduled, unixSeconds(last.Time))
	}
	since := func(run *v1alpha1.BenchmarkRun) bool { return !run.CreationTimestamp.Before(last) }
	if next != nil && last != nil && active != nil && active.UID == "" && !slices.ContainsFunc(runs, since) {
		next = last // the scheduled run is still due: it does not exist yet, for example because the API server refuses it
	}
	if next != nil {
		p.add(benchmarkScheduled, unixSeconds(next.Time))
	}
	counts := map[RunState]int{}
	for _, run := range runs {
		counts[StateOf(run)]++
	}
	for _, state := range RunStates {
		p.add(benchmarkRuns, float64(counts[state]), string(state))
	}
	p.verdict(&benchmark.Status)
	return p.all
}

// verdict adds the verdicts on the newest evaluated run.
func (p *points) verdict(status *v1alpha1.StorageBenchmarkStatus) {
	if status.LastRun != nil {
		p.add(benchmarkLastRun, 1, status.LastRun.Name, status.LastRun.Reason)
	}
	objectives := status.Objectives
	if status.LastRun == nil || !status.LastRun.ResultsValid() {
		objectives = nil // the figures of an incomplete or invalid run do not measure what was requested
	}
	for _, objective := range objectives {
		switch objective.Verdict {
		case v1alpha1.VerdictMet:
			p.add(benchmarkObjective, 1, objective.Name)
		case v1alpha1.VerdictMissed:
			p.add(benchmarkObjective, 0, objective.Name)
		case v1alpha1.VerdictUnknown:
		}
	}
	judged := status.Regression
	if judged == nil {
		return
	}
	p.add(benchmarkCompared, float64(judged.ComparedRuns))
	switch judged.Verdict {
	case v1alpha1.RegressionRegressed:
		p.add(benchmarkRegressed, 1)
	case v1alpha1.RegressionNoChange, v1alpha1.RegressionImproved:
		p.add(benchmarkRegressed, 0)
	case v1alpha1.RegressionUnknown:
	}
	for _, figure := range judged.Figures {
		if figure.Verdict != v1alpha1.RegressionUnknown {
			p.add(benchmarkChange, float64(figure.ChangePermille)/milli, figure.Figure)
		}
	}
}

// Headlines returns the figures of the newest evaluated run, as recorded in the benchmark's status. They are used after
// the run has been deleted. Headlines returns none if the run was incomplete or not valid.
func Headlines(benchmark *v1alpha1.StorageBenchmark) []Point {
	last := benchmark.Status.LastRun
	if last == nil || !last.ResultsValid() {
		return nil
	}
	p := points{common: []string{benchmark.Namespace, benchmark.Name}}
	for _, headline := range benchmark.Status.Headlines {
		labels := []string{headline.Phase, headline.Target, string(headline.Operation)}
		p.addCount(resultThroughput, headline.BytesPerSecond, one, labels...)
		p.addCount(resultIOPS, headline.IOPSMilli, milli, labels...)
		p.addCount(resultLatency, headline.P99Nanoseconds, nanoseconds, append(labels, "99")...)
	}
	return p.all
}

// Queues counts the runs in each queue. A run is in the queue of its benchmark. Runs without a benchmark, and runs
// whose benchmark has no queue, are not counted.
func Queues(benchmarks map[string]*v1alpha1.StorageBenchmark, runs []*v1alpha1.BenchmarkRun) []Point {
	type key struct{ namespace, queue string }
	type count struct{ waiting, live int }
	counts := map[key]*count{}
	for _, benchmark := range benchmarks {
		if benchmark.Spec.Queue != "" {
			counts[key{benchmark.Namespace, benchmark.Spec.Queue}] = &count{}
		}
	}
	for _, run := range runs {
		benchmark := benchmarks[run.Namespace+"/"+run.Spec.BenchmarkRef.Name]
		if benchmark == nil || benchmark.Spec.Queue == "" {
			continue
		}
		counted := counts[key{run.Namespace, benchmark.Spec.Queue}]
		switch StateOf(run) {
		case RunWaiting:
			counted.waiting++
		case RunLive:
			counted.live++
		case RunComplete, RunFailed:
		}
	}
	var p points
	for of, counted := range counts {
		p.add(queueRuns, float64(counted.waiting), of.namespace, of.queue, string(RunWaiting))
		p.add(queueRuns, float64(counted.live), of.namespace, of.queue, string(RunLive))
	}
	return p.all
}
