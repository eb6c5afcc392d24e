package cli_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/cli"
	"github.com/storagebench/storagebench/test/golden"
)

// called is what a call of the program in this process gave.
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

// TestTexts are what people see: help, plans, errors.
func TestTexts(t *testing.T) {
	for name, arguments := range map[string][]string{
		"help":            {"--help"},
		"help-run":        {"run", "--help"},
		"help-plan":       {"plan", "--help"},
		"help-report":     {"report", "--help"},
		"help-merge":      {"merge", "--help"},
		"help-parse":      {"parse", "--help"},
		"plan":            {"plan", "-f", "../../config/samples/quickstart.yaml"},
		"plan-jobs":       {"plan", "-f", "../../config/samples/jobfile.yaml", "--jobs"},
		"plan-json":       {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "json"},
		"plan-phases":     {"plan", "-f", "testdata/plan-phases.yaml"},
		"plan-all":        {"plan", "-f", "testdata/plan-phases.yaml", "--all", "--seed", "7"},
		"plan-ior":        {"plan", "-f", "../../config/samples/ior.yaml", "--jobs"},
		"plan-two":        {"plan", "-f", "testdata/plan-two.yaml"},
		"plan-two-json":   {"plan", "-f", "testdata/plan-two.yaml", "-o", "json"},
		"plan-refused":    {"plan", "-f", "testdata/plan-refused.yaml"},
		"plan-mistakes":   {"plan", "-f", "testdata/plan-mistakes.yaml"},
		"unknown-verb":    {"measure"},
		"unknown-flag":    {"plan", "--fast"},
		"unknown-output":  {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "xml"},
		"no-file":         {"plan"},
		"no-such-file":    {"plan", "-f", "testdata/nothing.yaml"},
		"not-local":       {"run", "-f", "../../config/samples/quickstart.yaml", "--kubeconfig", "testdata/nothing"},
		"local-target":    {"run", "-f", "../../config/samples/quickstart.yaml", "--target", "data=/x"},
		"run-mistakes":    {"run", "-f", "testdata/plan-refused.yaml", "--kubeconfig", "testdata/nothing"},
		"help-watch":      {"watch", "--help"},
		"watch-nobody":    {"watch", "quickstart", "--kubeconfig", "testdata/nothing"},
		"help-init":       {"init", "--help"},
		"init-claim":      {"init", "--claim", "data", "--access-mode", "ReadWriteMany", "--clients", "4"},
		"init-one-node":   {"init", "mine", "--claim", "data", "--clients", "2"},
		"init-class":      {"init", "--storage-class", "gp3", "--size", "100Gi", "--clients", "3"},
		"init-json":       {"init", "--storage-class", "azurefile.csi", "--access-mode", "ReadWriteMany", "-o", "json"},
		"init-both":       {"init", "--storage-class", "gp3", "--claim", "data"},
		"init-size":       {"init", "--storage-class", "gp3", "--size", "many"},
		"init-nothing":    {"init"},
		"plan-yaml":       {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "yaml"},
		"help-completion": {"completion", "--help"},
		"help-profiles":   {"profiles", "--help"},
		"profiles":        {"profiles"},
		"profiles-one":    {"profiles", "etcd-wal", "oltp-8k"},
		"profiles-yaml":   {"profiles", "etcd-wal", "oltp-8k", "-o", "yaml"},
		"profiles-none":   {"profiles", "of-yesterday"},
		"plan-library":    {"plan", "-f", "testdata/plan-library.yaml", "--jobs"},
		"plan-resized":    {"plan", "-f", "testdata/plan-resized.yaml"},
		"parse-unknown":   {"parse", "iozone", "x"},
		"report-garbage":  {"report", "cli_test.go"},
		"merge-nothing":   {"merge"},
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, name, call("", arguments...).String()) })
	}
}

// TestParseEveryRun parses the committed outputs of real fio, good and bad: what is no result ends
// with exit code 1 and fio's own reason.
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

// TestParseStandardInput reads what is piped in, and refuses what is nothing.
func TestParseStandardInput(t *testing.T) {
	for name, input := range map[string]string{
		"nothing": "", "garbage": "fio: this is no JSON\n{]\n", "other JSON": `{"jobs": [], "fio version": "fio-3.33"}`,
	} {
		if got := call(input, "parse", "fio", "-"); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "no result") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
