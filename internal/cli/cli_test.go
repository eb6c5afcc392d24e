package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files anew")

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

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// TestTexts are what people see: help, plans, errors.
func TestTexts(t *testing.T) {
	for name, arguments := range map[string][]string{
		"help":           {"--help"},
		"help-run":       {"run", "--help"},
		"help-plan":      {"plan", "--help"},
		"help-report":    {"report", "--help"},
		"help-merge":     {"merge", "--help"},
		"help-parse":     {"parse", "--help"},
		"plan":           {"plan", "-f", "../../config/samples/quickstart.yaml"},
		"plan-jobs":      {"plan", "-f", "../../config/samples/jobfile.yaml", "--jobs"},
		"plan-json":      {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "json"},
		"unknown-verb":   {"measure"},
		"unknown-flag":   {"plan", "--fast"},
		"unknown-output": {"plan", "-f", "../../config/samples/quickstart.yaml", "-o", "xml"},
		"no-file":        {"plan"},
		"no-such-file":   {"plan", "-f", "testdata/nothing.yaml"},
		"not-local":      {"run", "-f", "../../config/samples/quickstart.yaml"},
		"parse-ior":      {"parse", "ior", "x"},
		"report-garbage": {"report", "cli_test.go"},
		"merge-nothing":  {"merge"},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, call("", arguments...).String()) })
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
			golden(t, "parse-"+name, got.String())
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
