package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is a metric: its name, its meaning and the labels of its series.
type Family struct {
	// Name is the metric's name without the prefix.
	Name string
	Help string
	// Labels are the label names of each series, in the order of the values in Point.Labels.
	Labels []string
	// Kind is prometheus.GaugeValue or prometheus.CounterValue.
	Kind prometheus.ValueType
	// Group is the section of docs/reference/metrics.md that describes the metric.
	Group Group

	desc *prometheus.Desc
}

// Group is a group of metrics with the same source.
type Group string

// Possible values of Group, in the order of their sections in docs/reference/metrics.md.
const (
	GroupBenchmark Group = "Benchmarks"
	GroupResults   Group = "Results of the newest run of a benchmark"
	GroupRun       Group = "Runs that have not ended"
	GroupLive      Group = "Clients of live runs"
	GroupOperator  Group = "Queues and the operator"
)

// prefix is the prefix of all metric names.
const prefix = "storagebench_"

// FullName returns the name with the prefix.
func (f *Family) FullName() string { return prefix + f.Name }

// Label names that several metrics share. Each list is named after the object that its labels identify, such as a
// phase.
var (
	ofBenchmark = []string{"namespace", "benchmark"}
	ofPhase     = append(slices.Clone(ofBenchmark), "phase")
	ofTarget    = append(slices.Clone(ofPhase), "target")
	ofOperation = append(slices.Clone(ofTarget), "operation")
	ofRun       = append(slices.Clone(ofBenchmark), "run")
	ofRunTarget = append(slices.Clone(ofRun), "target")
	ofLoad      = append(slices.Clone(ofRun), "phase", "target", "operation")
)

var families []*Family

func define(group Group, kind prometheus.ValueType, labels []string, name, help string, more ...string) *Family {
	labels = append(slices.Clone(labels), more...)
	f := &Family{Name: name, Help: help, Labels: labels, Kind: kind, Group: group,
		desc: prometheus.NewDesc(prefix+name, help, labels, nil)}
	families = append(families, f)
	return f
}

func gauge(group Group, labels []string, name, help string, more ...string) *Family {
	return define(group, prometheus.GaugeValue, labels, name, help, more...)
}

// Families returns all metrics of the Collector.
func Families() []*Family { return slices.Clone(families) }

// Metrics of a benchmark, from its spec and status.
var (
	benchmarkCondition = gauge(GroupBenchmark, ofBenchmark, "benchmark_condition",
		"1 for the current status of a condition of the benchmark (Ready, Reconciling, Stalled, Running, Regressed), 0 for the other two statuses.", "condition", "status")
	benchmarkSuspended = gauge(GroupBenchmark, ofBenchmark, "benchmark_suspended",
		"1 if spec.suspend prevents new runs, otherwise 0.")
	benchmarkRuns = gauge(GroupBenchmark, ofBenchmark, "benchmark_runs",
		"Existing runs of the benchmark by state: Waiting, Live, Complete or Failed.", "state")
	benchmarkScheduled = gauge(GroupBenchmark, ofBenchmark, "benchmark_next_schedule_timestamp_seconds",
		"Time of the next scheduled run. A time in the past means that the run is due and waiting.")
	benchmarkLastScheduled = gauge(GroupBenchmark, ofBenchmark, "benchmark_last_schedule_timestamp_seconds",
		"Time of the last scheduled run that was started or skipped.")
	benchmarkLastRun = gauge(GroupBenchmark, ofBenchmark, "benchmark_last_run_info",
		"1 for the newest evaluated run, with the reason for its verdict: Passed, or why it did not pass.", "run", "reason")
	benchmarkObjective = gauge(GroupBenchmark, ofBenchmark, "benchmark_objective_met",
		"1 if the newest evaluated run met the objective, 0 if it missed it. "+
			"Absent if the run has no figure for it, or is not complete and valid.", "objective")
	benchmarkRegressed = gauge(GroupBenchmark, ofBenchmark, "benchmark_regressed",
		"1 if the newest evaluated runs are worse than earlier ones, 0 if not. Absent if there are too few runs.")
	benchmarkCompared = gauge(GroupBenchmark, ofBenchmark, "benchmark_regression_compared_runs",
		"Number of earlier runs that the newest runs were compared with.")
	benchmarkChange = gauge(GroupBenchmark, ofBenchmark, "benchmark_regression_change_ratio",
		"Relative change of a compared figure from earlier runs to the newest runs: 0.1 is an increase of 10 %.", "figure")
)

// Results of the newest run, whether it is valid or not.
var (
	resultStart = gauge(GroupResults, ofBenchmark, "benchmark_last_run_start_timestamp_seconds",
		"Start of the newest evaluated run, when it began to create its pods.")
	resultEnd = gauge(GroupResults, ofBenchmark, "benchmark_last_run_end_timestamp_seconds",
		"End of the newest evaluated run.")
	resultDuration = gauge(GroupResults, ofBenchmark, "benchmark_last_run_duration_seconds",
		"Duration of the newest evaluated run.")
	resultWarnings = gauge(GroupResults, ofBenchmark, "benchmark_last_run_warnings",
		"Warnings of the newest evaluated run, over all phases and targets.", "warning", "severity")
	resultLost = gauge(GroupResults, ofBenchmark, "benchmark_last_run_lost_clients",
		"Lost clients of the newest evaluated run.")
	resultPhase = gauge(GroupResults, ofPhase, "benchmark_phase_duration_seconds",
		"Duration of a phase of the newest evaluated run, from its first measured I/O to its last I/O.")
)

// Results of the newest run, only if it is complete and valid.
var (
	resultThroughput = gauge(GroupResults, ofOperation, "benchmark_throughput_bytes_per_second",
		"Throughput of all clients while all of them were running. For a drain whose credits ran out, the baseline.")
	resultIOPS = gauge(GroupResults, ofOperation, "benchmark_operations_per_second",
		"Operations per second of all clients while all of them were running. For a drain whose credits ran out, the baseline.")
	resultLatency = gauge(GroupResults, ofOperation, "benchmark_latency_seconds",
		"Percentile of the latency from submission to completion, from the merged histograms of all clients.", "percentile")
	resultMean = gauge(GroupResults, ofOperation, "benchmark_latency_mean_seconds",
		"Mean latency from submission to completion.")
	resultMax = gauge(GroupResults, ofOperation, "benchmark_latency_max_seconds",
		"Maximum latency from submission to completion.")
	resultHighest = gauge(GroupResults, ofTarget, "benchmark_search_operations_per_second",
		"Highest offered rate of a search that met its objective.")
	resultRateRatio = gauge(GroupResults, ofTarget, "benchmark_interference_rate_ratio",
		"Throughput of a victim of an interference phase with the given number of neighbours, relative to its throughput without neighbours.", "neighbours")
	resultP99Ratio = gauge(GroupResults, ofOperation, "benchmark_interference_p99_ratio",
		"99th percentile of the latency of a victim with the given number of neighbours, relative to its 99th percentile without neighbours.", "neighbours")
	resultFairness = gauge(GroupResults, ofPhase, "benchmark_fairness_ratio",
		"Jain's index of the rates of equal targets that were loaded together: 1 if all rates are equal.")
	resultObserved = gauge(GroupResults, ofPhase, "benchmark_observation",
		"Mean, Min or Max of an observed series over the measured time of a phase, in the unit of the query.", "observation", "series", "statistic")
	resultBurst = gauge(GroupResults, ofTarget, "benchmark_burst_bytes_per_second",
		"Throughput at the start of a burst drain: Burst, and, if the rate alternates, its lower (Sustained) and upper level (Peak).", "level")
	resultBaseline = gauge(GroupResults, ofTarget, "benchmark_baseline_bytes_per_second",
		"Throughput of a burst drain after the credits were spent.")
	resultRefill = gauge(GroupResults, ofTarget, "benchmark_refill_bytes_per_second",
		"Refill rate of the credits, by the source of the figure: Measured, Documented or Assumed.", "source")
	resultBurstIOPS = gauge(GroupResults, ofTarget, "benchmark_burst_operations_per_second",
		"Operations per second at the start of a burst drain, by level as in benchmark_burst_bytes_per_second.", "level")
	resultBaselineIOPS = gauge(GroupResults, ofTarget, "benchmark_baseline_operations_per_second",
		"Operations per second of a burst drain after the credits were spent.")
	resultToBaseline = gauge(GroupResults, ofTarget, "benchmark_time_to_baseline_seconds",
		"Time from the start of measurement in a burst drain until the rate settled at the baseline.")
	resultExhausted = gauge(GroupResults, ofTarget, "benchmark_credits_exhausted",
		"1 if a burst drain spent all credits, 0 if the rate never dropped.")
	resultSpent = gauge(GroupResults, ofTarget, "benchmark_credits_spent_bytes",
		"Credits spent until the last sustained drop of a burst drain: a lower bound on the bucket if its initial fill is unknown.")
	resultSpentOperations = gauge(GroupResults, ofTarget, "benchmark_credits_spent_operations",
		"Credits of a bucket of operations spent until the last sustained drop of a burst drain.")
	resultFill = gauge(GroupResults, ofTarget, "benchmark_credits_fill_ratio",
		"Estimated fill of the emptiest credit bucket at the start and end of a phase, from 0 to 1.", "at")
	resultOfBaseline = gauge(GroupResults, ofTarget, "benchmark_documented_baseline_ratio",
		"Rate relative to the lowest documented limit without credits. A drain has one series for its burst and one for its baseline.", "operation", "level")
	resultOfBurst = gauge(GroupResults, ofTarget, "benchmark_documented_burst_ratio",
		"Rate relative to the lowest documented limit with credits, by level as in benchmark_documented_baseline_ratio.", "operation", "level")
	resultSteady = gauge(GroupResults, ofTarget, "benchmark_steady",
		"1 if a steady phase reached steady state as defined by SNIA, 0 if not. Absent if the phase was too short.")
	resultCompression = gauge(GroupResults, ofTarget, "benchmark_compression_ratio",
		"Size of the data relative to its disk usage.")
	resultUtilization = gauge(GroupResults, ofTarget, "benchmark_client_cpu_ratio",
		"CPU usage of the busiest client, relative to the CPU available to its load.")
)

// Metrics of runs that have not ended.
var (
	runStage = gauge(GroupRun, ofRun, "run_stage",
		"1 for the current stage of the run: Pending, Queued, Connecting, Running or Finishing.", "stage")
	runCreated = gauge(GroupRun, ofRun, "run_created_timestamp_seconds",
		"Creation time of the run, which may have waited before it started.")
	runStart = gauge(GroupRun, ofRun, "run_start_timestamp_seconds",
		"Start of the run, when it began to create its pods.")
	runDeadline = gauge(GroupRun, ofRun, "run_deadline_timestamp_seconds",
		"Deadline of the run's current activity: starting, running a step, or finishing. A run past its deadline is stuck.")
	runWaiting = gauge(GroupRun, ofRun, "run_waiting",
		"1 while the run waits, by reason: WaitsForQueue, WaitsForVolume, WaitsForClients or WaitsForQuota.", "reason")
	runPhase = gauge(GroupRun, ofRun, "run_phase_state",
		"1 for the current state of a phase of the run: Pending, Running, Succeeded, Failed or Skipped.", "phase", "state")
	runSteps = gauge(GroupRun, ofRun, "run_steps",
		"Steps of the run by state, as in run_phase_state.", "state")
	runLost = gauge(GroupRun, ofRun, "run_lost_clients",
		"Lost clients of the run so far.")
	runWarnings = gauge(GroupRun, ofRun, "run_warnings",
		"Warnings of the run so far, over all phases and targets.", "warning", "severity")
)

// Metrics of live sessions.
var (
	liveClients = gauge(GroupLive, ofRunTarget, "run_clients",
		"Clients of a target by state of the connection to their agents: Connecting, Ready, Lost, Unfit or Finished.", "state")
	liveBytes = define(GroupLive, prometheus.CounterValue, ofLoad, "run_bytes_total",
		"Bytes transferred by the clients, including warm-up, layout and failed attempts.")
	liveOperations = define(GroupLive, prometheus.CounterValue, ofLoad, "run_operations_total",
		"Operations completed by the clients, including warm-up, layout and failed attempts.")
	liveLatency = gauge(GroupLive, ofLoad, "run_latency_seconds",
		"Latency percentile over the current step so far, or over the last step, from the merged histograms of all clients.", "percentile")
	liveNewest = gauge(GroupLive, ofLoad, "run_recent_latency_seconds",
		"Latency percentile over the most recently reported minute of the current or last step, from the merged histograms of all clients.", "percentile")
	liveSamples = define(GroupLive, prometheus.CounterValue, ofRunTarget, "run_samples_total",
		"Samples, of about 1 s each, reported by the clients.")
	liveSamplesLost = define(GroupLive, prometheus.CounterValue, ofRunTarget, "run_samples_lost_total",
		"Seconds of load that are missing from the clients' samples.")
)

// Metrics of queues and the operator.
var (
	queueRuns = gauge(GroupOperator, []string{"namespace", "queue"}, "queue_runs",
		"Runs in a queue by state: Waiting or Live.", "state")
	agentsConnected = gauge(GroupOperator, nil, "agents_connected",
		"Agents of all runs that are connected to the operator.")
	leading = gauge(GroupOperator, nil, "operator_leader",
		"1 if this operator process is the leader. A standby exports 0, and no metrics of benchmarks, so that sums over the replicas are correct.")
	buildInfo = gauge(GroupOperator, nil, "operator_build_info",
		"Always 1, with the version of the operator.", "version")
)
