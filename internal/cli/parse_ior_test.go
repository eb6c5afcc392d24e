package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// TestParseEveryIORRun checks how parse reads the committed outputs of real IOR and mdtest, good and bad.
func TestParseEveryIORRun(t *testing.T) {
	files, err := filepath.Glob("../engine/ior/testdata/runs/*/*.out")
	if err != nil || len(files) < 30 {
		t.Fatalf("only %d outputs: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".out")
		tool := "ior"
		if strings.HasPrefix(name, "mdtest") {
			tool = "mdtest"
		}
		version := filepath.Base(filepath.Dir(file))
		t.Run(version+"/"+name, func(t *testing.T) {
			got := call("", "parse", tool, file, "-o", "json")
			if got.code != 0 && (got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "not a result: ")) {
				t.Errorf("exit code %d: %s", got.code, got)
			}
			golden.Check(t, "parse-"+version+"-"+name, got.String())
		})
	}
}

// TestParseIORSaysWhatItIs checks for selected outputs, against values determined by hand, whether they contain a
// complete result or which error parse quotes.
func TestParseIORSaysWhatItIs(t *testing.T) {
	const runs = "../engine/ior/testdata/runs/"
	for file, wanted := range map[string]string{
		"3.3.0/csv.out": "no rows with summaryFormat=CSV", "3.3.0/error-bad-flag.out": "Error invalid argument: --no-such-flag",
		"3.3.0/error-bad-size.out": "block size must be a multiple of transfer size", "4.0.0/error-missing-file-json.out": "No such file or directory",
		"3.3.0/killed-json.out": `"complete": false`, "3.3.0/killed-table.out": `"complete": false`, "4.0.0/killed-json.out": `"complete": false`,
		"4.0.0/killed-table.out": `"complete": false`, "4.0.0/csv.out": `"complete": true`, "4.0.0/stonewall-table.out": `"complete": true`,
		"3.3.0/stonewall-json.out": `"complete": true`, "4.0.0/wrong-data.out": "Incorrect data on read (1 errors found)",
	} {
		got := call("", "parse", "ior", runs+file)
		isResult := strings.Contains(wanted, "complete")
		if (got.code == 0) != isResult || !strings.Contains(got.stdout+got.stderr, wanted) {
			t.Errorf("%s: want %s, got %s", file, wanted, got)
		}
	}
	for name, input := range map[string]string{"nothing": "", "garbage": "hello\n{]\n", "fio": `{"fio version": "fio-3.33"}`} {
		for _, tool := range []string{"ior", "mdtest"} {
			if got := call(input, "parse", tool, "-"); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "not a result") {
				t.Errorf("%s of %s: %s", name, tool, got)
			}
		}
	}
}
