package build

import "strings"

// Dashboards returns all dashboards.
func Dashboards() []Dashboard { return []Dashboard{live(), history(), comparison()} }

func dashboard(uid, title, description, refresh, from string, choices Templating, panels []Panel) Dashboard {
	return Dashboard{UID: uid, Title: title, Description: description, Tags: []string{"storagebench"}, SchemaVersion: 39, Version: 1,
		Refresh: refresh, Time: TimeRange{From: from, To: "now"}, Templating: choices, Panels: panels}
}

// of replaces each @name in an expression by the metric storagebench_name, with the selector added to its label
// matchers.
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

// live returns the dashboard of one run in progress.
func live() Dashboard {
	q := func(expression, legend string) query {
		return query{of(`namespace="$namespace", benchmark="$benchmark", run="$run"`, expression), legend}
	}
	const load = "{{phase}} {{target}} {{operation}}"
	var l layout
	l.word("Stage", "What the run does, in a word.", q(`@run_stage`, "{{stage}}"))
	l.word("Phases", "What has become of each.", q(`@run_phase_state`, "{{phase}}: {{state}}"))
	l.number("Steps done", unitRatio, "Of all steps; they are not of the same length.",
		q(`sum(@run_steps{state=~"Succeeded|Skipped"}) / sum(@run_steps)`, ""))
	l.number("Running for", unitSeconds, "", q(`time() - @run_start_timestamp_seconds`, ""))
	l.number("Left at most", unitSeconds, "Until what the run does now has to be over. Below zero it is stuck.",
		q(`@run_deadline_timestamp_seconds - time()`, ""))
	l.number("Warnings", unitCount, "About results so far.", q(`sum(@run_warnings) or vector(0)`, ""))
	l.graph("Throughput", unitBytesPerSecond, "What the clients move, warm-up and layout included.",
		q(`sum by (phase, target, operation) (rate(@run_bytes_total[$__rate_interval]))`, load))
	l.graph("Operations a second", unitOperationsPerSecond, "",
		q(`sum by (phase, target, operation) (rate(@run_operations_total[$__rate_interval]))`, load))
	l.graph("Latency, newest minute", unitSeconds, "From the merged histograms of all clients; exact to 1.6 %.",
		q(`@run_recent_latency_seconds`, load+" p{{percentile}}"))
	l.graph("Latency, whole step so far", unitSeconds, "From the merged histograms of all clients; exact to 1.6 %.",
		q(`@run_latency_seconds`, load+" p{{percentile}}"))
	l.graph("Size of operations", unitBytes, "",
		q(`sum by (phase, target, operation) (rate(@run_bytes_total[$__rate_interval])) / (sum by (phase, target, operation) (rate(@run_operations_total[$__rate_interval])) > 0)`, load))
	l.graph("Clients", unitCount, "By how their agents are reached.", q(`sum by (target, state) (@run_clients)`, "{{target}} {{state}}"))
	l.graph("Samples", unitCount, "Seconds of load that the clients told of, and that are in no sample, a second.",
		q(`sum by (target) (rate(@run_samples_total[$__rate_interval]))`, "{{target}} taken"),
		q(`sum by (target) (rate(@run_samples_lost_total[$__rate_interval]))`, "{{target}} lost"))
	return dashboard("storagebench-live", "storagebench: live run", "One run while it is going on.", "10s", "now-30m",
		variables("storagebench_run_stage", "namespace", "benchmark", "run"), l.panels)
}

// history returns the dashboard of a benchmark's results from run to run.
func history() Dashboard {
	q := func(expression, legend string) query {
		return query{of(`namespace="$namespace", benchmark="$benchmark"`, expression), legend}
	}
	const figure = "{{phase}} {{target}} {{operation}}"
	const place = "{{phase}} {{target}}"
	var l layout
	l.word("Newest run", "The verdict on it.", q(`@benchmark_last_run_info`, "{{reason}}: {{run}}"))
	l.number("Ended", unitDate, "", q(`@benchmark_last_run_end_timestamp_seconds * 1000`, ""))
	l.number("Took", unitSeconds, "", q(`@benchmark_last_run_duration_seconds`, ""))
	l.number("Warnings", unitCount, "Of the newest run.", q(`sum(@benchmark_last_run_warnings) or vector(0)`, ""))
	l.number("Compared with", unitCount, "Earlier runs that the newest ones were compared with.", q(`@benchmark_regression_compared_runs`, ""))
	l.number("Runs kept", unitCount, "", q(`sum(@benchmark_runs{state=~"Complete|Failed"})`, ""))
	l.states("Good", "1 where the condition Ready is True.", q(`@benchmark_condition{condition="Ready", status="true"}`, "Ready"))
	l.states("Regressed", "1 where the newest runs are worse than earlier ones.", q(`@benchmark_condition{condition="Regressed", status="true"}`, "Regressed"))
	l.states("Objectives", "1 where the newest run met it.", q(`@benchmark_objective_met`, "{{objective}}"))
	l.graph("Length of phases", unitSeconds, "", q(`@benchmark_phase_duration_seconds`, "{{phase}}"))
	l.graph("Throughput", unitBytesPerSecond, "In the time in which all clients ran.", q(`@benchmark_throughput_bytes_per_second`, figure))
	l.graph("Operations a second", unitOperationsPerSecond, "", q(`@benchmark_operations_per_second`, figure))
	l.graph("Latency", unitSeconds, "From the merged histograms of all clients.", q(`@benchmark_latency_seconds`, figure+" p{{percentile}}"))
	l.graph("Mean and longest latency", unitSeconds, "",
		q(`@benchmark_latency_mean_seconds`, figure+" mean"), q(`@benchmark_latency_max_seconds`, figure+" max"))
	l.graph("Burst and baseline", unitBytesPerSecond, "What a burst drain found.",
		q(`@benchmark_burst_bytes_per_second`, place+" {{level}}"), q(`@benchmark_baseline_bytes_per_second`, place+" Baseline"),
		q(`@benchmark_refill_bytes_per_second`, place+" refill ({{source}})"))
	l.graph("Until the baseline", unitSeconds, "From the begin of the drain.", q(`@benchmark_time_to_baseline_seconds`, place))
	l.graph("Credits spent", unitBytes, "Until the last lasting drop.", q(`@benchmark_credits_spent_bytes`, place))
	l.graph("Fill of the bucket", unitRatio, "As it is estimated, at the start and at the end of a phase.", q(`@benchmark_credits_fill_ratio`, place+" {{at}}"))
	l.graph("Of what is documented", unitRatio, "Rate in relation to the least documented limit, without credits and with them.",
		q(`@benchmark_documented_baseline_ratio`, figure+" {{level}} of baseline"), q(`@benchmark_documented_burst_ratio`, figure+" {{level}} of burst"))
	l.graph("CPU of the busiest client", unitRatio, "", q(`@benchmark_client_cpu_ratio`, place))
	return dashboard("storagebench-history", "storagebench: history of a benchmark", "Results of a benchmark from run to run.", "5m", "now-30d",
		variables("storagebench_benchmark_last_run_info", "namespace", "benchmark"), l.panels)
}

// comparison returns the dashboard that shows the targets of a benchmark side by side.
func comparison() Dashboard {
	q := func(expression, legend string) query {
		return query{of(`namespace="$namespace", benchmark="$benchmark", phase="$phase"`, expression), legend}
	}
	const figure = "{{target}} {{operation}}"
	var l layout
	l.bars("Throughput", unitBytesPerSecond, "Of the newest run.", q(`@benchmark_throughput_bytes_per_second`, figure))
	l.bars("Throughput of the best", unitRatio, "1 is the target with the most.",
		q(`@benchmark_throughput_bytes_per_second / on (operation) group_left () max by (operation) (@benchmark_throughput_bytes_per_second > 0)`, figure))
	l.bars("Operations a second", unitOperationsPerSecond, "", q(`@benchmark_operations_per_second`, figure))
	l.bars("p99 of the best", unitRatio, "1 is the target with the shortest, 2 takes twice as long.",
		q(`@benchmark_latency_seconds{percentile="99"} / on (operation) group_left () min by (operation) (@benchmark_latency_seconds{percentile="99"} > 0)`, figure))
	l.bars("Latency", unitSeconds, "", q(`@benchmark_latency_seconds`, figure+" p{{percentile}}"))
	l.bars("Of the documented baseline", unitRatio, "", q(`@benchmark_documented_baseline_ratio`, figure+" {{level}}"))
	l.bars("Burst and baseline", unitBytesPerSecond, "Where the phase is a burst drain.",
		q(`@benchmark_burst_bytes_per_second{level="Burst"}`, "{{target}} burst"), q(`@benchmark_baseline_bytes_per_second`, "{{target}} baseline"))
	l.bars("CPU of the busiest client", unitRatio, "What the target was loaded with may be what limits it.", q(`@benchmark_client_cpu_ratio`, "{{target}}"))
	l.graph("Throughput from run to run", unitBytesPerSecond, "", q(`@benchmark_throughput_bytes_per_second`, figure))
	l.graph("p99 from run to run", unitSeconds, "", q(`@benchmark_latency_seconds{percentile="99"}`, figure))
	l.graph("Throughput while it runs", unitBytesPerSecond, "",
		q(`sum by (target, operation) (rate(@run_bytes_total[$__rate_interval]))`, figure))
	l.graph("p99 while it runs, newest minute", unitSeconds, "", q(`@run_recent_latency_seconds{percentile="99"}`, figure))
	return dashboard("storagebench-comparison", "storagebench: comparison of targets", "The targets of a benchmark side by side.", "1m", "now-7d",
		variables("storagebench_benchmark_throughput_bytes_per_second", "namespace", "benchmark", "phase"), l.panels)
}
