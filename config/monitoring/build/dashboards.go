package build

import "strings"

// Dashboards returns all dashboards.
func Dashboards() []Dashboard { return []Dashboard{live(), history(), comparison()} }

func dashboard(uid, title, description, refresh, from string, choices Templating, panels []Panel) Dashboard {
	return Dashboard{UID: uid, Title: title, Description: description, Tags: []string{"storagebench"}, SchemaVersion: 39, Version: 1,
		Refresh: refresh, Time: TimeRange{From: from, To: "now"}, Templating: choices, Panels: panels}
}

// of expands an expression. It replaces each @name with the metric storagebench_name, and adds the given selector to
// the label matchers of that metric.
func of(selector, expression string) string {
	var text strings.Builder
	for i, part := range strings.Split(expression, "@") {
		if i == 0 {
			text.WriteString(part)
			continue
		}
		end := strings.IndexFunc(part, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
		if end < 0 {
			end = len(part)
		}
		name, rest := part[:end], part[end:]
		matchers := selector
		if more, after, found := strings.Cut(rest, "}"); found && strings.HasPrefix(rest, "{") {
			matchers, rest = selector+", "+more[1:], after
		}
		text.WriteString("storagebench_" + name + "{" + matchers + "}" + rest)
	}
	return text.String()
}

// live returns the dashboard that shows a run in progress.
func live() Dashboard {
	q := func(expression, legend string) query {
		return query{of(`namespace="$namespace", benchmark="$benchmark", run="$run"`, expression), legend}
	}
	const load = "{{phase}} {{target}} {{operation}}"
	var l layout
	l.word("Stage", "Current stage of the run.", q(`@run_stage`, "{{stage}}"))
	l.word("Phases", "State of each phase.", q(`@run_phase_state`, "{{phase}}: {{state}}"))
	l.number("Steps done", unitRatio, "Succeeded and skipped steps as a fraction of all steps. Steps differ in length.",
		q(`sum(@run_steps{state=~"Succeeded|Skipped"}) / sum(@run_steps)`, ""))
	l.number("Running for", unitSeconds, "", q(`time() - @run_start_timestamp_seconds`, ""))
	l.number("Time left at most", unitSeconds, "Time until the deadline of the current activity. If negative, the run is stuck.",
		q(`@run_deadline_timestamp_seconds - time()`, ""))
	l.number("Warnings", unitCount, "Warnings of the run so far.", q(`sum(@run_warnings) or vector(0)`, ""))
	l.graph("Throughput", unitBytesPerSecond, "Throughput of all clients, including warm-up and layout.",
		q(`sum by (phase, target, operation) (rate(@run_bytes_total[$__rate_interval]))`, load))
	l.graph("IOPS", unitOperationsPerSecond, "",
		q(`sum by (phase, target, operation) (rate(@run_operations_total[$__rate_interval]))`, load))
	l.graph("Latency, newest minute", unitSeconds, "Computed from the merged histograms of all clients, accurate to within 1.6 %.",
		q(`@run_recent_latency_seconds`, load+" p{{percentile}}"))
	l.graph("Latency, whole step so far", unitSeconds, "Computed from the merged histograms of all clients, accurate to within 1.6 %.",
		q(`@run_latency_seconds`, load+" p{{percentile}}"))
	l.graph("I/O size", unitBytes, "",
		q(`sum by (phase, target, operation) (rate(@run_bytes_total[$__rate_interval])) / (sum by (phase, target, operation) (rate(@run_operations_total[$__rate_interval])) > 0)`, load))
	l.graph("Clients", unitCount, "Clients by state of the connection to their agents.", q(`sum by (target, state) (@run_clients)`, "{{target}} {{state}}"))
	l.graph("Samples", unitCount, "Samples (1 s each) reported and missing, per second.",
		q(`sum by (target) (rate(@run_samples_total[$__rate_interval]))`, "{{target}} reported"),
		q(`sum by (target) (rate(@run_samples_lost_total[$__rate_interval]))`, "{{target}} missing"))
	return dashboard("storagebench-live", "storagebench: live run", "A run in progress.", "10s", "now-30m",
		variables("storagebench_run_stage", "namespace", "benchmark", "run"), l.panels)
}

// history returns the dashboard that compares a benchmark's results between runs.
func history() Dashboard {
	q := func(expression, legend string) query {
		return query{of(`namespace="$namespace", benchmark="$benchmark"`, expression), legend}
	}
	const figure = "{{phase}} {{target}} {{operation}}"
	const place = "{{phase}} {{target}}"
	var l layout
	l.word("Newest run", "Verdict on the newest evaluated run.", q(`@benchmark_last_run_info`, "{{reason}}: {{run}}"))
	l.number("Ended", unitDate, "", q(`@benchmark_last_run_end_timestamp_seconds * 1000`, ""))
	l.number("Duration", unitSeconds, "", q(`@benchmark_last_run_duration_seconds`, ""))
	l.number("Warnings", unitCount, "Warnings of the newest run.", q(`sum(@benchmark_last_run_warnings) or vector(0)`, ""))
	l.number("Compared with", unitCount, "Number of earlier runs that the newest runs were compared with.", q(`@benchmark_regression_compared_runs`, ""))
	l.number("Runs kept", unitCount, "", q(`sum(@benchmark_runs{state=~"Complete|Failed"})`, ""))
	l.states("Ready", "1 if the condition Ready is True.", q(`@benchmark_condition{condition="Ready", status="true"}`, "Ready"))
	l.states("Regressed", "1 if the newest runs are worse than earlier ones.", q(`@benchmark_condition{condition="Regressed", status="true"}`, "Regressed"))
	l.states("Objectives", "1 if the newest run met the objective.", q(`@benchmark_objective_met`, "{{objective}}"))
	l.graph("Duration of phases", unitSeconds, "", q(`@benchmark_phase_duration_seconds`, "{{phase}}"))
	l.graph("Throughput", unitBytesPerSecond, "Rates over the time during which all clients were running.", q(`@benchmark_throughput_bytes_per_second`, figure))
	l.graph("IOPS", unitOperationsPerSecond, "", q(`@benchmark_operations_per_second`, figure))
	l.graph("Latency", unitSeconds, "Computed from the merged histograms of all clients.", q(`@benchmark_latency_seconds`, figure+" p{{percentile}}"))
	l.graph("Mean and maximum latency", unitSeconds, "",
		q(`@benchmark_latency_mean_seconds`, figure+" mean"), q(`@benchmark_latency_max_seconds`, figure+" max"))
	l.graph("Burst and baseline", unitBytesPerSecond, "Results of burst drains.",
		q(`@benchmark_burst_bytes_per_second`, place+" {{level}}"), q(`@benchmark_baseline_bytes_per_second`, place+" Baseline"),
		q(`@benchmark_refill_bytes_per_second`, place+" refill ({{source}})"))
	l.graph("Time to baseline", unitSeconds, "Time from the start of the drain until the rate falls to the baseline.", q(`@benchmark_time_to_baseline_seconds`, place))
	l.graph("Credits spent", unitBytes, "Credits spent until the last sustained drop of the rate.", q(`@benchmark_credits_spent_bytes`, place))
	l.graph("Credit balance", unitRatio, "Estimated fill level of the bucket at the start and end of a phase.", q(`@benchmark_credits_fill_ratio`, place+" {{at}}"))
	l.graph("Relative to documented limits", unitRatio, "Rate relative to the lowest documented limit, without and with credits.",
		q(`@benchmark_documented_baseline_ratio`, figure+" {{level}} of baseline"), q(`@benchmark_documented_burst_ratio`, figure+" {{level}} of burst"))
	l.graph("CPU of the busiest client", unitRatio, "", q(`@benchmark_client_cpu_ratio`, place))
	return dashboard("storagebench-history", "storagebench: history of a benchmark", "Results of all runs of a benchmark.", "5m", "now-30d",
		variables("storagebench_benchmark_last_run_info", "namespace", "benchmark"), l.panels)
}

// comparison returns the dashboard that shows the targets of a benchmark side by side.
func comparison() Dashboard {
	q := func(expression, legend string) query {
		return query{of(`namespace="$namespace", benchmark="$benchmark", phase="$phase"`, expression), legend}
	}
	const figure = "{{target}} {{operation}}"
	var l layout
	l.bars("Throughput", unitBytesPerSecond, "Results of the newest run.", q(`@benchmark_throughput_bytes_per_second`, figure))
	l.bars("Throughput relative to the best", unitRatio, "The target with the highest throughput has the value 1.",
		q(`@benchmark_throughput_bytes_per_second / on (operation) group_left () max by (operation) (@benchmark_throughput_bytes_per_second > 0)`, figure))
	l.bars("IOPS", unitOperationsPerSecond, "", q(`@benchmark_operations_per_second`, figure))
	l.bars("p99 relative to the best", unitRatio, "The target with the lowest latency has the value 1; 2 means twice that latency.",
		q(`@benchmark_latency_seconds{percentile="99"} / on (operation) group_left () min by (operation) (@benchmark_latency_seconds{percentile="99"} > 0)`, figure))
	l.bars("Latency", unitSeconds, "", q(`@benchmark_latency_seconds`, figure+" p{{percentile}}"))
	l.bars("Relative to the documented baseline", unitRatio, "", q(`@benchmark_documented_baseline_ratio`, figure+" {{level}}"))
	l.bars("Burst and baseline", unitBytesPerSecond, "Only for burst drain phases.",
		q(`@benchmark_burst_bytes_per_second{level="Burst"}`, "{{target}} burst"), q(`@benchmark_baseline_bytes_per_second`, "{{target}} baseline"))
	l.bars("CPU of the busiest client", unitRatio, "The client, not the target, may limit the throughput if its CPU is busy.", q(`@benchmark_client_cpu_ratio`, "{{target}}"))
	l.graph("Throughput by run", unitBytesPerSecond, "", q(`@benchmark_throughput_bytes_per_second`, figure))
	l.graph("p99 by run", unitSeconds, "", q(`@benchmark_latency_seconds{percentile="99"}`, figure))
	l.graph("Throughput of the live run", unitBytesPerSecond, "",
		q(`sum by (target, operation) (rate(@run_bytes_total[$__rate_interval]))`, figure))
	l.graph("p99 of the live run, newest minute", unitSeconds, "", q(`@run_recent_latency_seconds{percentile="99"}`, figure))
	return dashboard("storagebench-comparison", "storagebench: comparison of targets", "The targets of a benchmark side by side.", "1m", "now-7d",
		variables("storagebench_benchmark_throughput_bytes_per_second", "namespace", "benchmark", "phase"), l.panels)
}
