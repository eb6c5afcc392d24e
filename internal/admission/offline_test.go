package admission_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/admission"
)

// TestDecodeSaysMoreThanTheServer checks mistakes that the API server accepts, or refuses without naming the entry or
// the remedy. No other error must be reported.
func TestDecodeSaysMoreThanTheServer(t *testing.T) {
	trigger := func(text string) string {
		return strings.Replace(goodFile, "spec:\n  run:", "spec:\n  trigger: {"+text+"}\n  run:", 1)
	}
	objectives := func(entries ...string) string {
		return strings.Replace(goodFile, "spec:\n  run:", "spec:\n  objectives:\n  - "+strings.Join(entries, "\n  - ")+"\n  run:", 1)
	}
	for name, test := range map[string]struct{ file, want string }{
		"phase": {objectives("{name: a, phase: measure, iops: {min: 1}}", "name: b\n    phase: mesure\n    iops: {min: 1}"),
			`line 10: StorageBenchmark/quick: spec.objectives[1].phase: "mesure": no phase has this name; did you mean measure?`},
		"phases": {objectives("{name: a, phase: yesterday, iops: {min: 1}}", "{name: b, phase: layuot, iops: {min: 1}}"),
			"line 8: StorageBenchmark/quick: spec.objectives[0].phase: \"yesterday\": no phase has this name; use one of layout, measure\n" +
				"line 9: StorageBenchmark/quick: spec.objectives[1].phase: \"layuot\": no phase has this name; did you mean layout?"},
		"target": {objectives("{name: a, phase: measure, target: dsk, iops: {min: 1}}"),
			`line 8: StorageBenchmark/quick: spec.objectives[0].target: "dsk": no target has this name; did you mean disk? If target is not set, each target is evaluated`},
		"phase beside a missing field": {strings.Replace(objectives("{name: a, phase: yesterday, iops: {min: 1}}"), "steady: {duration: 1m}", "steady: {}", 1),
			"line 8: StorageBenchmark/quick: spec.objectives[0].phase: \"yesterday\": no phase has this name; use one of layout, measure\n" +
				"line 17: StorageBenchmark/quick: spec.run.phases[1].steady.duration: required; add it"},
		"phase without any phases": {strings.Replace(objectives("{name: a, phase: yesterday, iops: {min: 1}}"), "name: measure", "nmae: measure", 1),
			"line 8: StorageBenchmark/quick: spec.objectives[0].phase: \"yesterday\": no phase has this name; use one of layout, measure\n" +
				"line 16: StorageBenchmark/quick: spec.run.phases[1].nmae: unknown field; did you mean name?"},
		"phases of one name": {strings.Replace(goodFile, "name: measure", "name: layout", 1),
			`line 14: StorageBenchmark/quick: spec.run.phases[1].name: "layout" is also the name of phases[0]; rename one`},
		"volumes of one name": {strings.Replace(goodFile, "[{name: data, claimName: scratch}]", "[{name: data, claimName: a}, {name: data, claimName: b}]", 1),
			`line 10: StorageBenchmark/quick: spec.run.targets[0].volumes[1].name: "data" is also the name of volumes[0]; rename one`},
		"no volumes": {strings.Replace(goodFile, "[{name: data, claimName: scratch}]", "[]", 1),
			"line 10: StorageBenchmark/quick: spec.run.targets[0].volumes: is empty; specify a claim with claimName: NAME instead"},
		"hour 99":         {trigger(`schedule: "0 99 * * *"`), `line 7: StorageBenchmark/quick: spec.trigger.schedule: "0 99 * * *": "99" is not a valid hour: use 0 to 23, or * for all`},
		"letters":         {trigger(`schedule: "a b c d e"`), `line 7: StorageBenchmark/quick: spec.trigger.schedule: "a b c d e": "a" is not a valid minute: use 0 to 59, or * for all`},
		"words":           {trigger(`schedule: "every night at 2 am"`), `line 7: StorageBenchmark/quick: spec.trigger.schedule: "every night at 2 am": "every" is not a valid minute: use 0 to 59, or * for all`},
		"never":           {trigger(`schedule: "0 0 30 2 *"`), `line 7: StorageBenchmark/quick: spec.trigger.schedule: "0 0 30 2 *": never occurs: correct the day or the month`},
		"daily":           {trigger(`schedule: "@daily"`), `line 7: StorageBenchmark/quick: spec.trigger.schedule: "@daily": use 0 0 * * *`},
		"yearly":          {trigger(`schedule: "@yearly"`), `line 7: StorageBenchmark/quick: spec.trigger.schedule: "@yearly": use 0 0 1 1 *`},
		"zone":            {trigger(`schedule: "0 2 * * *", timeZone: Mars/Phobos`), `line 7: StorageBenchmark/quick: spec.trigger.timeZone: "Mars/Phobos": no such time zone: use a name from the IANA time zone database, such as Europe/Berlin, or UTC`},
		"zone of nowhere": {trigger(`schedule: "0 2 * * *", timeZone: Local`), `line 7: StorageBenchmark/quick: spec.trigger.timeZone: "Local": means the operator's time zone: use a name such as Europe/Berlin, or UTC`},
		"two spaces":      {trigger(`schedule: "0  2 * * *"`), `line 7: StorageBenchmark/quick: spec.trigger.schedule: "0  2 * * *": must be five cron fields separated by single spaces, such as '0 3 * * 1'`},
	} {
		_, err := admission.Decode([]byte(test.file))
		var all admission.Errors
		if !errors.As(err, &all) || all.Error() != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, test.want)
		}
	}
	if _, err := admission.Decode([]byte(trigger(`schedule: "*/15 2 * JAN MON-FRI", timeZone: Europe/Berlin`))); err != nil {
		t.Error(err)
	}
}

// TestSizesOfOtherTools checks that a size with a unit unknown to Kubernetes is refused with a suggestion of the
// intended size.
func TestSizesOfOtherTools(t *testing.T) {
	for written, meant := range map[string]string{
		"8K": "8Ki", "8KB": "8Ki", "8KiB": "8Ki", "8kb": "8Ki", "8kB": "8Ki", "8ki": "8Ki", "8 KiB": "8Ki", "8m": "8Mi", "64MB": "64Mi", "64MiB": "64Mi",
		"1GB": "1Gi", "1g": "1Gi", "0.5GiB": "0.5Gi", "lots": "", "8KX": "", "4 k i": "",
	} {
		_, err := admission.Decode([]byte(strings.Replace(goodFile, "blockSize: 4Ki", "blockSize: "+written, 1)))
		want := "line 21: WorkloadProfile/mine: spec.fio.blockSize: \"" + written + "\": a whole number of bytes from 512 to 1Gi, such as 4Ki"
		if meant != "" {
			want += "; did you mean " + meant + "?"
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", written, err, want)
		}
	}
	_, err := admission.Decode([]byte(strings.Replace(goodFile, "datasetSize: 64Mi", "datasetSize: 64MB", 1)))
	if err == nil || !strings.HasSuffix(err.Error(), `spec.fio.datasetSize: "64MB": a whole number of bytes from 512 to 1Pi, such as 8Gi; did you mean 64Mi?`) {
		t.Error(err)
	}
}

// TestMistakesOfStrangers checks the answers to typical mistakes of newcomers. There must be exactly one answer, on one
// line.
func TestMistakesOfStrangers(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"a template":            {"claimName: scratch", "claimName: {{ .Values.claim }}", "{{ starts a template action; render the file first, for example with helm template"},
		"a variable":            {"claimName: scratch", "claimName: ${CLAIM}", "replace variables such as ${NAME} with values, for example with envsubst, or put them in quotes"},
		"a unit in words":       {"duration: 1m", "duration: 10 min", "did you mean 10m?"},
		"days":                  {"duration: 1m", "duration: 1.5d", "did you mean 36h?"},
		"two weeks":             {"duration: 1m", "duration: 14 days", "such as 1h30m; at most 168h"},
		"too fine":              {"duration: 1m", "duration: 0.5us", "such as 1h30m; at most 168h"},
		"a value in lower case": {"pattern: Random", "pattern: random", `"random" is not a known value; did you mean Random?`},
		"another value":         {"pattern: Random", "pattern: zigzag", `"zigzag" is not a known value; use one of "Sequential"`},
		"a claim by its kind":   {"{name: data, claimName: scratch}", "{name: data, pvc: scratch}", "volumes[0].pvc: unknown field; did you mean claimName?"},
		"fields of a text":      {"    workload:", "    clients: one\n    workload:", `spec.run.clients: "one": must be a mapping, with "name: value" for each field; known fields: count, `},
		"beside the template":   {"    workload:", "    clients: {nodeSelector: {disk: fast}}\n    workload:", "move it to spec.run.clients.template.nodeSelector"},
		"axes of a sweep":       {"steady: {duration: 1m}", "sweep: {jobs: [1, 2], regime: Any, stepDuration: 60s}", "move it to spec.run.phases[1].sweep.axes.jobs"},
		"no regime":             {"steady: {duration: 1m}", "sweep: {axes: {jobs: [1, 2]}, stepDuration: 60s}", "sweep.regime: required; add one of Burst, Baseline, Any"},
		"no regime of a search": {"steady: {duration: 1m}", `search: {objective: {latency: {percentile: "99", max: 5ms}}, rate: {max: 10}, stepDuration: 60s}`, "search.regime: required; add one of Baseline, Any"},
		"a percentile of a search": {"steady: {duration: 1m}", "search: {objective: {latency: {p99: 5ms}}, rate: {max: 10}, regime: Any, stepDuration: 60s}",
			`latency.p99: unknown field; use percentile: "99", max: 5ms`},
		"p before a percentile": {"steady: {duration: 1m}", "search: {objective: {latency: {percentile: p99.9, max: 5ms}}, rate: {max: 10}, regime: Any, stepDuration: 60s}",
			`latency.percentile: "p99.9": use a number from 1 to below 100 with at most four decimals, such as 99.9; did you mean "99.9"?`},
		"a latency without a unit": {"steady: {duration: 1m}", `search: {objective: {latency: {percentile: "99", max: 5}}, rate: {max: 10}, regime: Any, stepDuration: 60s}`,
			"latency.max: 5: the unit is missing; use 5ms for milliseconds"},
		"the duration of a search": {"steady: {duration: 1m}", `search: {objective: {latency: {percentile: "99", max: 5ms}}, rate: {max: 10}, regime: Any, duration: 60s}`,
			"search.duration: unknown field; did you mean stepDuration?"},
		"the duration of a drain": {"steady: {duration: 1m}", "burstDrain: {duration: 10m}", "burstDrain.duration: unknown field; did you mean maxDuration?"},
		"a victim in no list":     {"steady: {duration: 1m}", "interference: {victims: data, regime: Any, blockDuration: 20s}", `interference.victims: "data": must be a list, with "- " before each entry`},
		"the duration of a block": {"steady: {duration: 1m}", "interference: {victims: [disk], aggressors: [other], regime: Any, duration: 20s}", "interference.duration: unknown field; did you mean blockDuration?"},
		"a number of small files": {"steady: {duration: 1m}", "smallFiles: {files: 1000}", "smallFiles.files: unknown field; set filesPerJob in the fio workload"},
		"a size of small files":   {"steady: {duration: 1m}", "smallFiles: {fileSize: 4Ki}", "smallFiles.fileSize: unknown field; set datasetSize in the fio workload"},
		"an operation in lower case": {"steady: {duration: 1m}", "smallFiles: {operations: [create, Delete]}",
			`smallFiles.operations[0]: "create" is not a known value; did you mean Create?`},
		"a query by its language": {"    workload:", "    observations: [{name: cpu, promql: up}]\n    workload:", "observations[0].promql: unknown field; did you mean query?"},
		"a query alone":           {"    workload:", "    observations: [up]\n    workload:", `observations[0]: "up": must be a mapping, with "name: value" for each field; known fields: creditsOf, name, phases, query, unit`},
		"observations beside run": {"  run:", "  observations: [{name: cpu, query: up}]\n  run:", "spec.observations: unknown field here; move it to spec.run.observations"},
		"a phase of an observation": {"    workload:", "    observations: [{name: cpu, query: up, phases: [layout, mesure]}]\n    workload:",
			`spec.run.observations[0].phases[1]: "mesure": no phase has this name; did you mean measure?`},
		"the credits of nothing": {"    workload:", "    observations: [{name: cpu, query: up, creditsOf: dsk}]\n    workload:",
			`spec.run.observations[0].creditsOf: "dsk": no target has this name; did you mean disk?`},
		"a percentile as a figure":   {"  run:", "  objectives: [{name: fast, phase: measure, p99: 5ms}]\n  run:", `spec.objectives[0].p99: unknown field; use latency: {percentile: "99", max: 5ms}`},
		"a rate as it is spoken":     {"  run:", "  objectives: [{name: fast, phase: measure, throughput: {min: 100MB/s}}]\n  run:", `throughput.min: "100MB/s": above zero, such as 260M; did you mean 100M?`},
		"one objective in no list":   {"  run:", "  objectives: {name: fast, phase: measure, iops: {min: 1}}\n  run:", `spec.objectives: must be a list, with "- " before each entry`},
		"phases by their names":      {"    - {name: layout, prepare: {}}\n    - name: measure\n      steady: {duration: 1m}", "      layout: {prepare: {}}\n      measure: {steady: {duration: 1m}}", `spec.run.phases: must be a list, with "- " before each entry`},
		"a kind of phase as a value": {"steady: {duration: 1m}", "type: steady", "phases[1].type: unknown field; use the kind of the phase as a field, such as steady: {duration: 60s}"},
		"a phase of a duration":      {"steady: {duration: 1m}", "duration: 1m", "phases[1].duration: unknown field; set it in the kind of the phase, such as steady: {duration: 1m}"},
		"the share of writes":        {"pattern: Random", "pattern: Random, writePercent: 30", "spec.fio.writePercent: unknown field; set readPercent instead; all other operations are writes"},
		"a class for a claim":        {"volumes: [{name: data, claimName: scratch}]", "storageClassName: gp3", "targets[0].storageClassName: unknown field; for new claims, use volumes: [{name: data, claimTemplate: {spec: {storageClassName: gp3, ...}}}]"},
		"a template for one claim":   {"volumes: [{name: data, claimName: scratch}]", "claimTemplate: {spec: {}}", "targets[0].claimTemplate: unknown field here; move it to spec.run.targets[0].volumes[].claimTemplate"},
		"a whole pod":                {"    workload:", "    clients: {template: {spec: {nodeSelector: {a: b}}}}\n    workload:", "template.spec: unknown field; the template has no spec: move its fields one level up"},
		"a schedule of fields":       {"  run:", `  schedule: {cron: "0 2 * * *"}` + "\n  run:", `spec.schedule: unknown field; use trigger: {schedule: "0 2 * * *"}`},
		"a schedule beside run":      {"  run:", `  schedule: "0 2 * * *"` + "\n  run:", `spec.schedule: unknown field here; move it to spec.trigger.schedule`},
		"no kind":                    {"kind: StorageBenchmark\n", "", "kind: missing; set it to StorageBenchmark, or WorkloadProfile"},
		"no clients":                 {"    workload:", "    clients: {count: 0}\n    workload:", "spec.run.clients.count: 0: must be at least 1"},
		"a cron line":                {"  run:", `  trigger: {cron: "0 2 * * *"}` + "\n  run:", "spec.trigger.cron: unknown field; did you mean schedule?"},
		"a field of the whole":       {"spec:\n  run:", "specs:\n  run:", "specs: unknown field; did you mean spec?"},
		"a profile by its name":      {"{profileRef: {name: mine}}", "{profile: {name: mine}}", "spec.run.workload.profile: unknown field; did you mean profileRef?"},
		"a record of a run":          {"kind: StorageBenchmark", "kind: BenchmarkRun", "kind: a BenchmarkRun is a record that storagebench creates; use a StorageBenchmark instead"},
		"a field twice":              {"    workload:", "    clients: {count: 1}\n    clients: {spread: Any}\n    workload:", `duplicate key "clients"; merge the two, or remove one`},
		"no space after a colon":     {"volumes: [{name: data, claimName: scratch}]", "claimName:scratch", "; use name: value for each field, with a space after the colon"},
		"a colon in a value":         {"    workload:", "    startTimeout: 1m: 2\n    workload:", "; put a space after each colon, put values that contain colons in quotes, and check the indentation"},
		"a name in two messages": {"metadata: {name: quick}", "metadata: {name: My_Bench}",
			`metadata.name: "My_Bench": use lower-case letters, digits and dashes only, no dots, because it becomes a label and part of pod names`},
	} {
		file := strings.Replace(goodFile, test.old, test.new, 1)
		_, err := admission.Decode([]byte(file))
		if file == goodFile {
			t.Errorf("%s: %q is not in the file", name, test.old)
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, test.want)
		}
	}
}

// TestTwoEngines checks that a missing field of one engine does not hide that two engines are set.
func TestTwoEngines(t *testing.T) {
	_, err := admission.Decode([]byte(strings.Replace(goodFile, "{profileRef: {name: mine}}", "{profileRef: {name: mine}, ior: {transferSize: 1Mi}}", 1)))
	if err == nil || !strings.Contains(err.Error(), "set exactly one of") || !strings.Contains(err.Error(), "workload.ior.blockSize: required; add it") {
		t.Errorf("got %v", err)
	}
}
