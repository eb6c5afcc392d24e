package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const oneBenchmark = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: first}
spec:
  run:
    targets:
    - name: data
      volumes: [{name: data, claimName: disk}]
    clients: {count: 2}
    workload:
      fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, queueDepth: 4, datasetSize: 1Gi}
    phases:
    - name: writes
      steady: {duration: 10s}
`

// others contains objects that a chart or a kustomization has besides a benchmark.
const others = `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: server}
`

func writeFiles(t *testing.T, files map[string]string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// TestPlanReadsAll checks that every benchmark in the files is planned, whatever else the files contain.
func TestPlanReadsAll(t *testing.T) {
	second := strings.ReplaceAll(oneBenchmark, "name: first", "name: second")
	usesProfile := strings.Replace(second, "fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, queueDepth: 4, datasetSize: 1Gi}", "profileRef: {name: mine}", 1)
	profile := "apiVersion: storagebench.dev/v1alpha1\nkind: WorkloadProfile\nmetadata: {name: mine}\nspec:\n  fio: {pattern: Random, readPercent: 0, blockSize: 8Ki, datasetSize: 2Gi}\n"
	directory := writeFiles(t, map[string]string{"a.yaml": oneBenchmark, "b.yml": usesProfile + others, "profile.json": "# none\n---\n" + profile,
		"kustomization.yaml": "resources: [a.yaml]\n", "notes.txt": "not: read"})
	in := func(name string) string { return filepath.Join(directory, name) }
	for name, test := range map[string]struct {
		arguments  []string
		input      string
		benchmarks string
		passed     string
	}{
		"one":                    {arguments: []string{"-f", in("a.yaml")}, benchmarks: "first"},
		"without a flag":         {arguments: []string{in("a.yaml")}, benchmarks: "first"},
		"each flag":              {arguments: []string{"-f", in("a.yaml"), "-f", in("b.yml"), "-f", in("profile.json")}, benchmarks: "first second", passed: "PersistentVolumeClaim/disk, Deployment/server"},
		"a directory":            {arguments: []string{"-f", directory}, benchmarks: "first second", passed: "PersistentVolumeClaim/disk, Deployment/server"},
		"output of kustomize":    {arguments: []string{"-f", "-"}, input: strings.TrimPrefix(others, "---\n") + "---\n" + oneBenchmark + "---\n" + second, benchmarks: "first second", passed: "PersistentVolumeClaim/disk, Deployment/server"},
		"a file twice":           {arguments: []string{directory, "-f", in("a.yaml"), "-f", in("a.yaml")}, benchmarks: "first second", passed: "PersistentVolumeClaim/disk, Deployment/server"},
		"a file and a directory": {arguments: []string{in("a.yaml"), "-f", writeFiles(t, map[string]string{"x.yaml": second})}, benchmarks: "second first"},
	} {
		got := call(test.input, append([]string{"plan", "-o", "json"}, test.arguments...)...)
		names := regexp.MustCompile(`"benchmark": "(\w+)"`).FindAllStringSubmatch(got.stdout, -1)
		var planned []string
		for _, one := range names {
			planned = append(planned, one[1])
		}
		if got.code != 0 || strings.Join(planned, " ") != test.benchmarks || !json.Valid([]byte(got.stdout)) {
			t.Errorf("%s: planned %v: %s", name, planned, got.stderr)
		}
		if !strings.Contains(got.stderr, test.passed) || (test.passed == "") != (got.stderr == "") {
			t.Errorf("%s: standard error is %q", name, got.stderr)
		}
	}
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"nothing of ours":  {[]string{"plan", writeFiles(t, map[string]string{"x.yaml": others})}, "no StorageBenchmark found"},
		"an empty folder":  {[]string{"plan", t.TempDir()}, "has no .yaml, .yml or .json file"},
		"one name twice":   {[]string{"plan", in("a.yaml"), writeFiles(t, map[string]string{"again.yaml": oneBenchmark})}, "has an object of the same kind and name"},
		"a fault in each":  {[]string{"plan", writeFiles(t, map[string]string{"x.yaml": strings.Replace(oneBenchmark, "10s", "10", 1), "y.yaml": strings.Replace(second, "4Ki", "4x", 1)})}, "y.yaml has 1 mistake"},
		"one name thrice":  {[]string{"plan", in("a.yaml"), writeFiles(t, map[string]string{"b.yaml": oneBenchmark, "c.yaml": oneBenchmark})}, "3 files have an object of this kind and name (first: " + in("a.yaml") + "); rename or remove all but one"},
		"a run of several": {[]string{"run", "-f", directory, "--kubeconfig", "testdata/nothing"}, "the files contain 2 StorageBenchmarks (first: first, second)"},
	} {
		if got := call("", test.arguments...); got.code != 1 || !strings.Contains(got.stderr, test.want) || strings.Count(got.stderr, "metadata.name") > 1 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestProfileWithoutANamespace checks that a benchmark finds a profile of its file if only one of the two has a
// namespace, because `run -f` applies both in the same one. The library has a profile of the same name, which must not
// be used.
func TestProfileWithoutANamespace(t *testing.T) {
	for _, test := range []struct{ benchmark, profile, blockSize string }{
		{"", "", "16Ki"}, {"team-a", "", "16Ki"}, {"", "team-a", "16Ki"},
		{"team-a", "team-a", "16Ki"}, {"team-a", "team-b", "4Ki"},
	} {
		text := strings.NewReplacer(
			"{name: first}", fmt.Sprintf("{name: first, namespace: %q}", test.benchmark),
			"fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, queueDepth: 4, datasetSize: 1Gi}",
			"profileRef: {name: rand-write-4k-qd1}",
			"{name: mine}", fmt.Sprintf("{name: rand-write-4k-qd1, namespace: %q}", test.profile),
		).Replace(oneBenchmark + oneProfile)
		got := call(text, "plan", "-o", "yaml", "-f", "-")
		if got.code != 0 || !strings.Contains(got.stdout, "blockSize: "+test.blockSize) {
			t.Errorf("namespaces %q and %q, want blocks of %s:\n%s", test.benchmark, test.profile, test.blockSize, got)
		}
	}
}

// TestMovedValuesAreJudged checks that the value of a misnamed or misplaced field is checked together with its name and
// is reported on its own line.
func TestMovedValuesAreJudged(t *testing.T) {
	for name, test := range map[string]struct {
		from, to string
		want     []string
	}{
		"a block size": {"blockSize: 4Ki", "bs: 4k", []string{"line 11: StorageBenchmark/first: spec.run.workload.fio.bs: unknown field",
			"line 11: StorageBenchmark/first: spec.run.workload.fio.blockSize: 4k is decimal"}},
		"a typo":    {"{count: 2}", "{cuont: 0}", []string{"clients.cuont: unknown field; did you mean count?", "clients.count: 0: must be at least 1"}},
		"a runtime": {"duration: 10s", "runtime: 10", []string{"steady.runtime: unknown field", "steady.duration: 10: the unit is missing; use 10s for seconds"}},
		"a schedule": {"spec:\n", "spec:\n  schedule: every night\n", []string{"line 5: StorageBenchmark/first: spec.schedule: unknown field here; move it to spec.trigger.schedule",
			`line 5: StorageBenchmark/first: spec.trigger.schedule: "every night": must have five fields`}},
		"objectives": {"    phases:", "    objectives:\n    - {name: p99, phase: wirtes, latency: {percentile: \"99\", max: 5ms}}\n    phases:", []string{
			"line 12: StorageBenchmark/first: spec.run.objectives: unknown field here; move it to spec.objectives",
			`line 13: StorageBenchmark/first: spec.objectives[0].phase: "wirtes": no phase has this name; did you mean writes?`}},
		"a typo in what is moved": {"    phases:", "    objectives:\n    - {name: p99, phase: writes, latnecy: {percentile: \"99\", max: 5ms}}\n    phases:", []string{
			"move it to spec.objectives", "line 13: StorageBenchmark/first: spec.objectives[0].latnecy: unknown field; did you mean latency?"}},
		"a dataset that is planned": {"datasetSize: 1Gi", "size: 100001", []string{"fio.size: unknown field", "line 11: StorageBenchmark/first: spec.run.workload.fio.datasetSize: "}},
		"both":                      {"blockSize: 4Ki", "blockSize: 4Ki, bs: 4k", []string{"fio.bs: unknown field"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(oneBenchmark, test.from, test.to, 1)
			got := call(text, "plan", "-f", "-")
			for _, want := range test.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if got.code != 1 || strings.Count(got.stderr, "\n") != len(test.want)+1 {
				t.Errorf("want %d mistakes:\n%s", len(test.want), got)
			}
		})
	}
}

// TestMistakesOfEveryone checks that each common mistake gives a one-line error that says what to write instead.
func TestMistakesOfEveryone(t *testing.T) {
	const fio = "fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, queueDepth: 4, datasetSize: 1Gi}"
	spec := oneBenchmark[strings.Index(oneBenchmark, "spec:"):]
	for name, test := range map[string]struct{ from, to, want string }{
		"bs":                   {"blockSize: 4Ki", "bs: 4Ki", "line 11: StorageBenchmark/first: spec.run.workload.fio.bs: unknown field; fio's bs corresponds to blockSize, such as 4Ki"},
		"iodepth":              {"queueDepth", "iodepth", "fio.iodepth: unknown field; fio's iodepth corresponds to queueDepth"},
		"numjobs":              {"queueDepth: 4", "numjobs: 4", "fio.numjobs: unknown field; fio's numjobs corresponds to jobs"},
		"size":                 {"datasetSize: 1Gi", "size: 1Gi", "fio.size: unknown field; fio's size corresponds to datasetSize: the total of one client's files, such as 8Gi"},
		"rw":                   {"pattern: Random, readPercent: 0", "rw: randwrite", "fio.rw: unknown field; fio's rw corresponds to pattern: Random and readPercent: 0"},
		"a pattern of fio":     {"pattern: Random", "pattern: randread", `fio.pattern: "randread" is a value of fio's rw; use pattern: Random and readPercent: 100`},
		"end_fsync":            {"queueDepth: 4", "end_fsync: 1", "fio.end_fsync: unknown field; fio's end_fsync corresponds to fsync: {atEnd: true}"},
		"runtime in fio":       {"queueDepth: 4", "runtime: 60", "fio.runtime: unknown field; fio's runtime corresponds to the duration of a phase, such as steady: {duration: 60s}; move it there"},
		"runtime":              {"duration: 10s", "runtime: 10s", "steady.runtime: unknown field; fio's runtime corresponds to duration, such as 60s"},
		"a mix":                {"pattern: Random, readPercent: 0", "rw: randrw, readPercent: 70", "fio.rw: unknown field; fio's rw corresponds to pattern: Random with readPercent, the share of reads (fio's rwmixread, by default 50)"},
		"a pattern of a mix":   {"pattern: Random", "pattern: randrw", `fio.pattern: "randrw" is a value of fio's rw; use pattern: Random with readPercent, the share of reads (fio's rwmixread, by default 50)`},
		"a large dataset":      {"datasetSize: 1Gi", "datasetSize: 2P", `fio.datasetSize: "2P": too large; must be at most 1Pi`},
		"a small dataset":      {"datasetSize: 1Gi", "jobs: 3, filesPerJob: 2, datasetSize: 20Ki", `fio.datasetSize: "20Ki": too small, each file of each job must hold at least one block; raise it to 24Ki, or lower jobs, filesPerJob or blockSize`},
		"shared files":         {"blockSize: 4Ki", "blockSize: 1Gi, jobs: 3, filesPerJob: 2, fileSharing: Shared", "raise it to 2Gi, or lower"},
		"filename":             {"queueDepth: 4", "filename: /x", "fio.filename: unknown field; fio's filename is set by the target: specify a claim in targets[].claimName, and remove this"},
		"a typo":               {"queueDepth", "queuDepth", "fio.queuDepth: unknown field; did you mean queueDepth?"},
		"capitals":             {"blockSize", "blocksize", "fio.blocksize: unknown field; did you mean blockSize?"},
		"no unit":              {"10s", "10", "steady.duration: 10: the unit is missing; use 10s for seconds"},
		"no unit, in quotes":   {"10s", `"10"`, `steady.duration: "10": the unit is missing; use 10s for seconds`},
		"a decimal block":      {"4Ki", "64k", `fio.blockSize: 64k is decimal, k is 1000 and Ki is 1024; did you mean 64Ki?`},
		"a decimal dataset":    {"1Gi", "1G", `fio.datasetSize: 1G is decimal, and not a multiple of 4096; did you mean 1Gi?`},
		"a library's typo":     {fio, "profileRef: {kind: ClusterWorkloadProfile, name: oltp8k}", `profileRef: "oltp8k": did you mean oltp-8k?`},
		"a library's kind":     {fio, "profileRef: {kind: WorkloadProfile, name: oltp-8k}", `did you mean {kind: ClusterWorkloadProfile, name: oltp-8k}?`},
		"a cell's compression": {"  run:", "  objectives: [{name: a, phase: writes, cell: {jobs: 2}, ratio: {of: Compression, minPercent: 150}}]\n  run:", "objectives[0]: cell: only throughput"},
		"no kind":              {fio, "profileRef: {name: oltp8k}", `profileRef: "oltp8k": did you mean oltp-8k?`},
		"no spec":              {spec, "", "spec: required; add it"},
		"no run":               {spec, "spec: {suspend: true}\n", "spec.run: required; add it"},
		"an empty run":         {spec, "spec:\n  run:\n", "spec.run: required; add it"},
		"a tab":                {"  run:", "\trun:", "line 5: this line is indented with a tab; YAML allows only spaces: replace the tab with spaces"},
		"a tab after spaces":   {"    clients", "  \tclients", "line 9: this line is indented with a tab"},
		"a text for a number":  {"count: 2", "count: two", `clients.count: "two": must be a whole number`},
		"a number in quotes":   {"count: 2", `count: "2"`, `clients.count: "2": remove the quotes around the number`},
		"a fraction":           {"queueDepth: 4", "queueDepth: 4.5", "fio.queueDepth: 4.5: must be a whole number"},
		"a number for fields":  {"{count: 2}", "2", `clients: 2: must be a mapping, with "name: value" for each field`},
		"a text for a switch":  {"queueDepth: 4", `direct: "no"`, `fio.direct: "no": must be true or false`},
		"a name of a number":   {"name: first", "name: 7", "metadata.name: 7: YAML does not read this as text; put it in quotes"},
		"a label of a number":  {"name: first", "name: first, labels: {team: 7}", "metadata.labels[team]: 7: YAML does not read this as text; put it in quotes"},
		"metadata of no field": {"{name: first}", "[first]", "metadata: must contain fields, such as name"},
		"another group":        {"storagebench.dev/v1alpha1", "storagebench.io/v1", `apiVersion: "storagebench.io/v1": must be storagebench.dev/v1alpha1`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(oneBenchmark, test.from, test.to, 1)
			if text == oneBenchmark {
				t.Fatal("nothing is replaced")
			}
			got := call(text, "plan", "-f", "-")
			if got.code != 1 || !strings.Contains(got.stderr, test.want) || !strings.Contains(got.stderr, "standard input has 1 mistake:") {
				t.Errorf("want one mistake, with %q:\n%s", test.want, got)
			}
			if found := regexp.MustCompile(`int(32|64)|float64|"(string|object|array|integer)"|\bGo\b|unmarshal`).FindString(got.stderr); found != "" {
				t.Errorf("the error contains a Go term, %q:\n%s", found, got)
			}
		})
	}
}

// TestPlanSaysOnceThatANameIsTwice checks that planning does not repeat an error that the check of the file has already
// reported.
func TestPlanSaysOnceThatANameIsTwice(t *testing.T) {
	got := call(oneBenchmark+"    - name: writes\n      steady: {duration: 10s}\n", "plan", "-f", "-")
	const want = "has 1 mistake:\n  line 15: StorageBenchmark/first: spec.run.phases[1].name: \"writes\" is also the name of phases[0]; rename one\n"
	if got.code != 1 || !strings.HasSuffix(got.stderr, want) {
		t.Error(got)
	}
}
