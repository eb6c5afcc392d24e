package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/cli"
	"github.com/storagebench/storagebench/internal/version"
	"github.com/storagebench/storagebench/test/golden"
)

// called is the result of running the program in this process.
type called struct {
	code           int
	stdout, stderr string
}

func call(input string, arguments ...string) called {
	var stdout, stderr bytes.Buffer
	code := cli.Main(arguments, cli.Streams{In: strings.NewReader(input), Out: &stdout, Err: &stderr})
	return called{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

func (c called) String() string {
	return fmt.Sprintf("exit code %d\n--- standard output\n%s--- standard error\n%s", c.code, c.stdout, c.stderr)
}

// TestTexts checks the texts that users see, such as help, plans and errors, against golden files.
func TestTexts(t *testing.T) {
	for name, arguments := range map[string][]string{
		"help":              {"--help"},
		"help-run":          {"run", "--help"},
		"help-plan":         {"plan", "--help"},
		"help-report":       {"report", "--help"},
		"help-merge":        {"merge", "--help"},
		"help-parse":        {"parse", "--help"},
		"plan":              {"plan", "-f", "../../config/samples/quickstart.yaml"},
		"plan-jobs":         {"plan", "-f", "../../config/samples/jobfile.yaml", "--jobs"},
		"plan-json":         {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "json"},
		"plan-phases":       {"plan", "-f", "testdata/plan-phases.yaml"},
		"plan-about":        {"plan", "-f", "testdata/plan-about.yaml"},
		"plan-all":          {"plan", "-f", "testdata/plan-phases.yaml", "--all", "--seed", "7"},
		"plan-ior":          {"plan", "-f", "../../config/samples/ior.yaml", "--jobs"},
		"plan-two":          {"plan", "-f", "testdata/plan-two.yaml"},
		"plan-two-json":     {"plan", "-f", "testdata/plan-two.yaml", "-o", "json"},
		"plan-refused":      {"plan", "-f", "testdata/plan-refused.yaml"},
		"plan-mistakes":     {"plan", "-f", "testdata/plan-mistakes.yaml"},
		"unknown-verb":      {"measure"},
		"another-verb":      {"status"},
		"watch-no-name":     {"watch"},
		"watch-two":         {"watch", "a", "b"},
		"plan-name":         {"plan", "quickstart"},
		"local-namespace":   {"run", "--local", "-f", "../../config/samples/quickstart.yaml", "--target", "data=/x", "-n", "team"},
		"merge-no-file":     {"merge", "testdata/nothing.json"},
		"report-empty":      {"report", os.DevNull},
		"unknown-flag":      {"plan", "--fast"},
		"unknown-output":    {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "xml"},
		"no-file":           {"plan"},
		"no-such-file":      {"plan", "-f", "testdata/nothing.yaml"},
		"not-local":         {"run", "-f", "../../config/samples/quickstart.yaml", "--kubeconfig", "testdata/nothing"},
		"local-target":      {"run", "-f", "../../config/samples/quickstart.yaml", "--target", "data=/x"},
		"run-mistakes":      {"run", "-f", "testdata/plan-refused.yaml", "--kubeconfig", "testdata/nothing"},
		"help-watch":        {"watch", "--help"},
		"watch-nobody":      {"watch", "quickstart", "--kubeconfig", "testdata/nothing"},
		"help-init":         {"init", "--help"},
		"init-claim":        {"init", "--claim", "data", "--access-mode", "ReadWriteMany", "--clients", "4"},
		"init-one-node":     {"init", "mine", "--claim", "data", "--clients", "2"},
		"init-number":       {"init", "2024", "--claim", "1e3", "--clients", "2"},
		"init-class":        {"init", "--storage-class", "gp3", "--size", "100Gi", "--clients", "3"},
		"init-json":         {"init", "--storage-class", "azurefile.csi", "--access-mode", "ReadWriteMany", "-o", "json"},
		"init-both":         {"init", "--storage-class", "gp3", "--claim", "data"},
		"init-size":         {"init", "--storage-class", "gp3", "--size", "many"},
		"init-nothing":      {"init"},
		"init-profile":      {"init", "--storage-class", "gp3", "--profile", "oltp-8k", "--size", "1Gi", "--duration", "10s"},
		"init-profile-name": {"init", "--storage-class", "gp3", "--profile", "oltp"},
		"init-duration":     {"init", "--storage-class", "gp3", "--duration", "10"},
		"init-size-small":   {"init", "--storage-class", "gp3", "--size", "1G"},
		"init-one-pod":      {"init", "--claim", "data", "--access-mode", "ReadWriteOncePod", "--clients", "2"},
		"init-size-clients": {"init", "--claim", "shared", "--access-mode", "ReadWriteMany", "--size", "1Gi", "--clients", "100"},
		"init-size-case":    {"init", "--storage-class", "gp3", "--size", "2gi"},
		"plan-yaml":         {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "yaml"},
		"help-completion":   {"completion", "--help"},
		"help-profiles":     {"profiles", "--help"},
		"profiles":          {"profiles"},
		"profiles-one":      {"profiles", "etcd-wal", "oltp-8k"},
		"profiles-yaml":     {"profiles", "etcd-wal", "oltp-8k", "-o", "yaml"},
		"profiles-none":     {"profiles", "of-yesterday"},
		"plan-library":      {"plan", "-f", "testdata/plan-library.yaml", "--jobs"},
		"plan-resized":      {"plan", "-f", "testdata/plan-resized.yaml"},
		"parse-unknown":     {"parse", "iozone", "x"},
		"help-rerun":        {"rerun", "--help"},
		"help-cancel":       {"cancel", "--help"},
		"help-list":         {"list", "--help"},
		"help-version":      {"version", "--help"},
		"plan-price":        {"plan", "-f", "../../config/samples/fsx-windows-32-hdd-in-small.yaml", "--price-per-hour", "2.5"},
		"price-negative":    {"plan", "-f", "../../config/samples/quickstart.yaml", "--price-per-hour", "-1"},
		"repeat-zero":       {"run", "-f", "../../config/samples/quickstart.yaml", "--repeat", "0"},
		"repeat-csv":        {"run", "-f", "../../config/samples/quickstart.yaml", "--repeat", "3", "-o", "csv"},
		"repeat-no-watch":   {"rerun", "nightly", "--repeat", "3", "--watch=false"},
		"class-and-file":    {"run", "-f", "../../config/samples/quickstart.yaml", "--storage-class", "gp3"},
		"class-and-local":   {"run", "--local", "--storage-class", "gp3"},
		"class-empty":       {"run", "--storage-class", ""},
		"class-size":        {"run", "--storage-class", "gp3", "--size", "10"},
		"class-size-unit":   {"run", "--storage-class", "gp3", "--size", "10GB"},
		"class-size-binary": {"run", "--storage-class", "gp3", "--size", "10 gib"},
		"class-case":        {"run", "--storage-class", "GP3"},
		"class-name":        {"init", "--claim", "my_data"},
		"profiles-typo":     {"profiles", "rand-mixd-4k"},
		"class-missing":     {"run", "-f", "../../config/samples/quickstart.yaml", "--profile", "oltp-8k"},
		"cancel-save":       {"cancel", "nightly", "--wait=false", "--save", "result.json"},
		"rerun-save":        {"rerun", "nightly", "--watch=false", "--save", "result.json"},
		"run-save":          {"run", "-f", "../../config/samples/quickstart.yaml", "--watch=false", "--save", "result.json"},
		"list-both":         {"list", "nightly", "-A"},
		"rerun-no-name":     {"rerun"},
		"report-garbage":    {"report", "cli_test.go"},
		"merge-nothing":     {"merge"},
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, name, call("", arguments...).String()) })
	}
}

// TestParseEveryRun checks how parse reads the committed outputs of real fio, good and bad. If an output contains no
// result, the exit code is 1 and the error quotes fio's own reason.
func TestParseEveryRun(t *testing.T) {
	files, err := filepath.Glob("../engine/fio/testdata/runs/*.stdout")
	if err != nil || len(files) < 20 {
		t.Fatalf("only %d outputs: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".stdout")
		t.Run(name, func(t *testing.T) {
			got := call("", "parse", "fio", file)
			if got.code != 0 && got.stdout != "" {
				t.Errorf("exit code %d, and yet it printed a result", got.code)
			}
			golden.Check(t, "parse-"+name, got.String())
		})
	}
}

// TestParseOfAKilledRun checks that output that ends with a status dump is not taken for a complete run.
func TestParseOfAKilledRun(t *testing.T) {
	for run, complete := range map[string]bool{"sighup": false, "sigkill": false, "late-dump": true, "ramp": true} {
		got := call("", "parse", "fio", "../engine/fio/testdata/runs/"+run+".stdout")
		if strings.Contains(got.stdout, `"complete": true`) != complete ||
			strings.Contains(got.stdout, `"StatusDump: `) == complete {
			t.Errorf("%s: %s", run, got)
		}
	}
}

// TestParseStandardInput checks that parse reads standard input and rejects input that contains no result.
func TestParseStandardInput(t *testing.T) {
	for name, input := range map[string]string{
		"nothing": "", "garbage": "fio: this is no JSON\n{]\n", "other JSON": `{"jobs": [], "fio version": "fio-3.33"}`,
	} {
		if got := call(input, "parse", "fio", "-"); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "no result") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestParseGroups checks that parse warns if two groups of jobs did the same kind of operation: fio does not print
// whether one group waited for the other.
func TestParseGroups(t *testing.T) {
	text, err := os.ReadFile("../engine/fio/testdata/runs/two-groups.stdout")
	if err != nil {
		t.Fatal(err)
	}
	const group = `"groupid" : 1`
	last := strings.LastIndex(string(text), group)
	swap := strings.NewReplacer(`"read" : {`, `"write" : {`, `"write" : {`, `"read" : {`)
	first, second := string(text[:last]), swap.Replace(string(text[last+len(group):]))
	const warning = "SeveralGroups: Read: "
	if got := call(first+group+second, "parse", "fio", "-"); !strings.Contains(got.stdout, warning) {
		t.Errorf("the reads of two groups: %s", got)
	}
	got := call(first+`"groupid" : 0`+second, "parse", "fio", "-")
	if got.code != 0 || strings.Contains(got.stdout, warning) {
		t.Errorf("the reads of one group: %s", got)
	}
}

// TestParseNamesClat checks that percentiles of clat are labelled as such, and that the mean of lat is shown if there
// are no histograms.
func TestParseNamesClat(t *testing.T) {
	text, err := os.ReadFile("../engine/fio/testdata/runs/no-lat-bins.stdout")
	if err != nil {
		t.Fatal(err)
	}
	// With --output-format=json, fio prints neither percentiles nor bins.
	plain := regexp.MustCompile(`,\s*"(percentile|bins)" : \{[^{}]*\}`).ReplaceAllString(string(text), "")
	const warning = "CompletionLatency: Read: "
	for name, test := range map[string]struct {
		input, latency string
		warned         bool
	}{
		"bins of clat": {string(text), `"latencyType": "clat", "latency": { "samples": 200, "meanNanoseconds": 2461,`, true},
		"no bins":      {plain, `"latencyType": "lat", "latency": { "samples": 200, "meanNanoseconds": 4568,`, false},
	} {
		got := call(test.input, "parse", "fio", "-")
		shown := strings.Join(strings.Fields(got.stdout), " ")
		if !strings.Contains(shown, test.latency) || strings.Contains(shown, warning) != test.warned {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestVersionOfTheClient checks that version --client needs no cluster.
func TestVersionOfTheClient(t *testing.T) {
	got := call("", "version", "--client", "--kubeconfig", "testdata/nothing")
	if got.code != 0 || !strings.HasPrefix(got.stdout, "Client:    "+version.Version+" (go") || !strings.Contains(got.stdout, "API storagebench.dev/v1alpha1") {
		t.Error(got)
	}
}

// TestNoCluster checks that the error for an unreachable cluster names the cluster and the flags that select another
// one, but no API path.
func TestNoCluster(t *testing.T) {
	for _, arguments := range [][]string{{"list"}, {"report", "x"}, {"rerun", "x"}, {"cancel", "x"}, {"watch", "x"}, {"version"},
		{"run", "-f", "../../config/samples/quickstart.yaml"}, {"run", "--storage-class", "x"}} {
		got := call("", append(arguments, "--server", "https://127.0.0.1:1")...)
		if got.code != 1 || !strings.Contains(got.stderr, "cannot reach the cluster at https://127.0.0.1:1: ") ||
			!strings.Contains(got.stderr, "--kubeconfig") || strings.Contains(got.stderr, "/api") {
			t.Errorf("%v: %+v", arguments, got)
		}
	}
}

// TestSaveIsCheckedFirst checks that --save with a file that cannot be written is refused before the run starts.
func TestSaveIsCheckedFirst(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.json", "y-2.json"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"missing/x.json": "missing does not exist: create it",
		"file/x.json":    "file is not a directory",
		"x.json":         "is a directory: use the name of a file",
	} {
		got := call("", "run", "--local", "-f", "../../config/samples/quickstart.yaml", "--target", "data="+folder, "--save", filepath.Join(folder, name))
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "--save "+filepath.Join(folder, name)+": ") || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// With --repeat, each run has its own file, so x.json is not written. The invalid price is checked last and prevents
	// any run.
	for name, want := range map[string]string{"x.json": "--price-per-hour", "y.json": "y-2.json: is a directory"} {
		got := call("", "run", "--local", "-f", "../../config/samples/quickstart.yaml", "--repeat", "3",
			"--price-per-hour", "-1", "--save", filepath.Join(folder, name))
		if got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("three runs, %s: %+v", name, got)
		}
	}
}

// TestFlagsOfTheCluster checks that all verbs that use a cluster accept the same flags, before or after the verb.
func TestFlagsOfTheCluster(t *testing.T) {
	var reference bytes.Buffer
	if err := cli.Reference(&reference); err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile("(?m)^\\| `(-n, --namespace|--context|--kubeconfig)` \\| .*$")
	sections := map[string]string{}
	for _, section := range strings.Split(reference.String(), "\n## kubectl storagebench ")[1:] {
		verb, _, _ := strings.Cut(section, "\n")
		sections[verb] = strings.Join(flags.FindAllString(section, -1), "\n")
	}
	want := sections["watch"]
	for _, verb := range []string{"run", "rerun", "cancel", "list", "watch", "report", "compare", "version"} {
		if sections[verb] != want || strings.Count(sections[verb], "\n") != 2 {
			t.Errorf("%s has the flags\n%s", verb, sections[verb])
		}
		arguments := []string{"-n", "storage-tests", verb, "x"}
		if verb == "version" {
			arguments = arguments[:3]
		}
		if err := cli.Accepts(arguments); err != nil {
			t.Errorf("%v: %v", arguments, err)
		}
		delete(sections, verb)
	}
	for verb, found := range sections {
		if found != "" {
			t.Errorf("%s is not in the list of this test, and has the flags\n%s", verb, found)
		}
	}
}

// TestSizeOfProfile checks that init keeps the dataset size of a profile if it fits into half of the volume, and
// otherwise writes the largest power of two that fits.
func TestSizeOfProfile(t *testing.T) {
	for size, want := range map[string]string{
		"200Gi": "profileRef: {name: rand-read-4k-o8}\n", // dataset of 72 GiB
		"100Gi": "profileRef: {name: rand-read-4k-o8, datasetSize: 32Gi}",
		"20Gi":  "profileRef: {name: rand-read-4k-o8, datasetSize: 8Gi}",
	} {
		got := call("", "init", "--storage-class", "gp3", "--profile", "rand-read-4k-o8", "--size", size)
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("--size %s: want %q in\n%s", size, want, got)
		}
	}
}
