package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is a metric: its name, its meaning and the labels of its series.
type Family struct {
	// Name is without the prefix.
	Name string
	Help string
	// Labels are the label names of each series, in the order of a Point's values.
	Labels []string
	// Kind is prometheus.GaugeValue or prometheus.CounterValue.
	Kind prometheus.ValueType
	// Group is the section in the reference.
	Group Group

	desc *prometheus.Desc
}

// Group is a group of metrics with the same source.
type Group string

// The groups, in the order of the reference.
const (
	GroupBenchmark Group = "A benchmark"
	GroupResults   Group = "Results of the newest run of a benchmark"
	GroupRun       Group = "A run that has not ended"
	GroupLive      Group = "What the clients of a live run do"
	GroupOperator  Group = "Queues and the operator"
)

// prefix begins all metric names.
const prefix = "storagebench_"

// FullName returns the name with the prefix.
func (f *Family) FullName() string { return prefix + f.Name }

// Common label names, by what a series is about.
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
		"1 for the status that a condition of the benchmark has, 0 for the two others: Ready, Reconciling, Stalled, Running, Regressed.", "condition", "status")
	benchmarkSuspended = gauge(GroupBenchmark, ofBenchmark, "benchmark_suspended",
		"1 where spec.suspend keeps new runs from being started.")
	benchmarkRuns = gauge(GroupBenchmark, ofBenchmark, "benchmark_runs",
		"Runs of the benchmark that exist, by state: Waiting, Live, Complete or Failed.", "state")
	benchmarkScheduled = gauge(GroupBenchmark, ofBenchmark, "benchmark_next_schedule_timestamp_seconds",
		"When the schedule starts a run next; one in the past is due and waits.")
	benchmarkLastScheduled = gauge(GroupBenchmark, ofBenchmark, "benchmark_last_schedule_timestamp_seconds",
		"The newest time of the schedule that was handled.")
	benchmarkLastRun = gauge(GroupBenchmark, ofBenchmark, "benchmark_last_run_info",
		"1 for the newest run that was judged, with the reason of the verdict: Passed, or why it is not good.", "run", "reason")
	benchmarkObjective = gauge(GroupBenchmark, ofBenchmark, "benchmark_objective_met",
		"1 where the newest judged run met the objective, 0 where it missed it. Absent where a figure for it is.", "objective")
	benchmarkRegressed = gauge(GroupBenchmark, ofBenchmark, "benchmark_regressed",
		"1 where the newest judged runs are worse than earlier ones, 0 where they are not. Absent with too few runs to say.")
	benchmarkCompared = gauge(GroupBenchmark, ofBenchmark, "benchmark_regression_compared_runs",
		"Earlier runs that the newest ones were compared with.")
	benchmarkChange = gauge(GroupBenchmark, ofBenchmark, "benchmark_regression_change_ratio",
		"By how much a judged figure of the newest runs differs from that of earlier ones: 0.1 is 10 % more.", "figure")
)

// Results of the newest run, whether it is valid or not.
var (
	resultStart = gauge(GroupResults, ofBenchmark, "benchmark_last_run_start_timestamp_seconds",
		"When the newest judged run began to make its pods.")
	resultEnd = gauge(GroupResults, ofBenchmark, "benchmark_last_run_end_timestamp_seconds",
		"When the newest judged run ended.")
	resultDuration = gauge(GroupResults, ofBenchmark, "benchmark_last_run_duration_seconds",
		"From the begin of the newest judged run to its end.")
	resultWarnings = gauge(GroupResults, ofBenchmark, "benchmark_last_run_warnings",
		"Warnings of the newest judged run, over all its phases and targets.", "warning", "severity")
	resultLost = gauge(GroupResults, ofBenchmark, "benchmark_last_run_lost_clients",
		"Clients that the newest judged run has lost.")
	resultPhase = gauge(GroupResults, ofPhase, "benchmark_phase_duration_seconds",
		"From the begin of the first step of a phase of the newest judged run to the end of its last one.")
)

// Results of the newest run, only if it is complete and valid.
var (
	resultThroughput = gauge(GroupResults, ofOperation, "benchmark_throughput_bytes_per_second",
		"Throughput over all clients, in the time in which all of them ran.")
	resultIOPS = gauge(GroupResults, ofOperation, "benchmark_operations_per_second",
		"Operations a second over all clients, in the time in which all of them ran.")
	resultLatency = gauge(GroupResults, ofOperation, "benchmark_latency_seconds",
		"Percentile of the latency from submission to completion, from the merged histograms of all clients.", "percentile")
	resultMean = gauge(GroupResults, ofOperation, "benchmark_latency_mean_seconds",
		"Mean latency from submission to completion.")
	resultMax = gauge(GroupResults, ofOperation, "benchmark_latency_max_seconds",
		"Longest latency from submission to completion.")
	resultHighest = gauge(GroupResults, ofTarget, "benchmark_search_operations_per_second",
		"Highest rate of a search that met its objective: operations a second that arrived.")
	resultBurst = gauge(GroupResults, ofTarget, "benchmark_burst_bytes_per_second",
		"Throughput of a burst drain at its begin: burst, its lower level where it goes back and forth (sustained), its upper one (peak).", "level")
	resultBaseline = gauge(GroupResults, ofTarget, "benchmark_baseline_bytes_per_second",
		"Throughput of a burst drain once the credits were gone.")
	resultRefill = gauge(GroupResults, ofTarget, "benchmark_refill_bytes_per_second",
		"Credits that come back a second, with where that is from: Measured, Documented or Assumed.", "source")
	resultBurstIOPS = gauge(GroupResults, ofTarget, "benchmark_burst_operations_per_second",
		"Operations a second of a burst drain at its begin, by level as of benchmark_burst_bytes_per_second.", "level")
	resultBaselineIOPS = gauge(GroupResults, ofTarget, "benchmark_baseline_operations_per_second",
		"Operations a second of a burst drain once the credits were gone.")
	resultToBaseline = gauge(GroupResults, ofTarget, "benchmark_time_to_baseline_seconds",
		"From the begin of the measured time of a burst drain until the rate had settled on its baseline.")
	resultExhausted = gauge(GroupResults, ofTarget, "benchmark_credits_exhausted",
		"1 where a burst drain spent all credits, 0 where the rate never fell.")
	resultSpent = gauge(GroupResults, ofTarget, "benchmark_credits_spent_bytes",
		"Credits that were gone at the last lasting drop of a burst drain: a lower bound on the bucket where its fill at the start is not known.")
	resultSpentOperations = gauge(GroupResults, ofTarget, "benchmark_credits_spent_operations",
		"The same of a bucket of operations.")
	resultFill = gauge(GroupResults, ofTarget, "benchmark_credits_fill_ratio",
		"Estimated fill of the bucket of bytes at the start and at the end of a phase, of one.", "at")
	resultOfBaseline = gauge(GroupResults, ofTarget, "benchmark_documented_baseline_ratio",
		"Rate in relation to the least documented limit without credits. Of a drain there is one of its burst and one of its baseline.", "operation", "level")
	resultOfBurst = gauge(GroupResults, ofTarget, "benchmark_documented_burst_ratio",
		"Rate in relation to the least documented limit with credits, as of benchmark_documented_baseline_ratio.", "operation", "level")
	resultSteady = gauge(GroupResults, ofTarget, "benchmark_steady",
		"1 where the rate of a steady phase was steady by SNIA's rule, 0 where it was not. Absent where it was too short to say.")
	resultCompression = gauge(GroupResults, ofTarget, "benchmark_compression_ratio",
		"Size of the data in relation to the space that it takes.")
	resultUtilization = gauge(GroupResults, ofTarget, "benchmark_client_cpu_ratio",
		"What the busiest client used of the CPU that its load can use.")
)

// Metrics of runs that have not ended.
var (
	runStage = gauge(GroupRun, ofRun, "run_stage",
		"1 for the stage of the run: Pending, Queued, Deploying, Meeting, Running, Collecting or Finishing.", "stage")
	runCreated = gauge(GroupRun, ofRun, "run_created_timestamp_seconds",
		"When the run was created; it may have waited since.")
	runStart = gauge(GroupRun, ofRun, "run_start_timestamp_seconds",
		"When the run began to make its pods.")
	runDeadline = gauge(GroupRun, ofRun, "run_deadline_timestamp_seconds",
		"By when what the run does now has to be over: its start, its step, its end. A run that is late is stuck.")
	runWaiting = gauge(GroupRun, ofRun, "run_waiting",
		"1 while the run waits for its turn, by what for: WaitsForQueue, WaitsForVolume, WaitsForClients or WaitsForQuota.", "reason")
	runPhase = gauge(GroupRun, ofRun, "run_phase_state",
		"1 for the state of a phase of the run: Pending, Running, Succeeded, Failed or Skipped.", "phase", "state")
	runSteps = gauge(GroupRun, ofRun, "run_steps",
		"Steps of the run by state, as of run_phase_state.", "state")
	runLost = gauge(GroupRun, ofRun, "run_lost_clients",
		"Clients that the run has lost so far.")
	runWarnings = gauge(GroupRun, ofRun, "run_warnings",
		"Warnings about the run so far, over all its phases and targets.", "warning", "severity")
)

// Metrics of live sessions.
var (
	liveClients = gauge(GroupLive, ofRunTarget, "run_clients",
		"Clients of a target by how their agents are reached: Connecting, Ready, Lost, Unfit or Finished.", "state")
	liveBytes = define(GroupLive, prometheus.CounterValue, ofLoad, "run_bytes_total",
		"Bytes that the clients have moved, warm-up, layout and attempts that failed included.")
	liveOperations = define(GroupLive, prometheus.CounterValue, ofLoad, "run_operations_total",
		"Operations that the clients have completed, counted as run_bytes_total.")
	liveLatency = gauge(GroupLive, ofLoad, "run_latency_seconds",
		"Percentile of the latency in the step that runs, or ran last, over all that was measured of it so far, from the merged histograms of all clients.", "percentile")
	liveNewest = gauge(GroupLive, ofLoad, "run_recent_latency_seconds",
		"The same over the newest minute that was told of.", "percentile")
	liveSamples = define(GroupLive, prometheus.CounterValue, ofRunTarget, "run_samples_total",
		"Samples of about a second that the clients have told of.")
	liveSamplesLost = define(GroupLive, prometheus.CounterValue, ofRunTarget, "run_samples_lost_total",
		"Seconds of the clients' load that are in no sample.")
)

// Metrics of queues and the operator.
var (
	queueRuns = gauge(GroupOperator, []string{"namespace", "queue"}, "queue_runs",
		"Runs in a queue by state: Waiting or Live.", "state")
	agentsConnected = gauge(GroupOperator, nil, "agents_connected",
		"Agents that the operator is connected to, over all runs.")
	leading = gauge(GroupOperator, nil, "operator_leader",
		"1 where this process leads. One that stands by gives 0, and no series of benchmarks, so that nothing is counted twice.")
	buildInfo = gauge(GroupOperator, nil, "operator_build_info",
		"1, with the version of the operator.", "version")
)
