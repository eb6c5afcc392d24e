package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/golden"
)

// TestReports checks each format for the saved result of a real run, and for two results side by side.
func TestReports(t *testing.T) {
	for name, arguments := range map[string][]string{
		"report-text":            {"report", "testdata/result-a.json"},
		"report-markdown":        {"report", "testdata/result-a.json", "-o", "markdown"},
		"report-csv":             {"report", "testdata/result-a.json", "-o", "csv"},
		"report-csv-latency":     {"report", "testdata/result-a.json", "-o", "csv", "--table", "latency"},
		"report-form":            {"report", "testdata/result-a.json", "-o", "pdf"},
		"report-table":           {"report", "testdata/result-a.json", "-o", "csv", "--table", "everything"},
		"report-table-of-text":   {"report", "testdata/result-a.json", "--table", "latency"},
		"report-no-file":         {"report", "testdata/result-c.json"},
		"report-no-cluster":      {"report", "run/quickstart", "--kubeconfig", "testdata/nothing"},
		"help-compare":           {"compare", "--help"},
		"compare":                {"compare", "testdata/result-a.json", "testdata/result-b.json"},
		"compare-markdown":       {"compare", "testdata/result-a.json", "testdata/result-b.json", "-o", "markdown"},
		"compare-json":           {"compare", "testdata/result-a.json", "testdata/result-b.json", "-o", "json"},
		"compare-itself":         {"compare", "testdata/result-a.json", "testdata/result-a.json"},
		"compare-repeats":        {"compare", "--repeats", "testdata/result-a.json", "testdata/result-b.json"},
		"compare-repeats-mark":   {"compare", "--repeats", "testdata/result-a.json", "testdata/result-b.json", "-o", "markdown"},
		"compare-repeats-json":   {"compare", "--repeats", "testdata/result-a.json", "testdata/result-b.json", "-o", "json"},
		"compare-repeats-one":    {"compare", "--repeats", "testdata/result-a.json"},
		"compare-repeats-same":   {"compare", "--repeats", "testdata/result-a.json", "testdata/result-a.json"},
		"compare-repeats-margin": {"compare", "--repeats", "testdata/result-a.json", "--equivalent-within", "5"},
		"compare-alone":          {"compare", "testdata/result-a.json"},
		"compare-no-target":      {"compare", "testdata/result-a.json:else", "testdata/result-b.json:data"},
		"compare-form":           {"compare", "testdata/result-a.json", "testdata/result-b.json", "-o", "csv"},
		"compare-no-such-margin": {"compare", "testdata/result-a.json", "testdata/result-b.json", "--equivalent-within", "0"},
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, name, call("", arguments...).String()) })
	}
}

// TestReportOfYAML checks that a result in YAML gives the same report as in JSON.
func TestReportOfYAML(t *testing.T) {
	written := call("", "report", "testdata/result-a.json", "-o", "yaml")
	want := call("", "report", "testdata/result-a.json", "-v").String()
	if got := call(written.stdout, "report", "-", "-v").String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestReportToAFile checks that the whole report is written to the file, and that no file is created on an error.
func TestReportToAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	got := call("", "report", "testdata/result-a.json", "-o", "html", "--file", file)
	page, err := os.ReadFile(file)
	if err != nil || got.code != report.ExitMet || got.stdout != "" {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, part := range []string{"<!DOCTYPE html>", `data-chart="throughput"`, `data-chart="latency-0"`, `data-chart="timeline"`, "</html>"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("there is no %s", part)
		}
	}
	none := filepath.Join(t.TempDir(), "none.csv")
	if got := call("", "report", "testdata/result-a.json", "-o", "csv", "--table", "x", "--file", none); got.code != report.ExitFailed {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(none); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
}

// TestReportReplacesAFile checks that the old file is never partly overwritten, and that devices and links are not
// replaced.
func TestReportReplacesAFile(t *testing.T) {
	folder := t.TempDir()
	old, other, link := filepath.Join(folder, "old"), filepath.Join(folder, "other"), filepath.Join(folder, "link")
	for _, err := range []error{os.WriteFile(old, []byte("before"), 0o644), os.Link(old, other), os.Symlink("old", link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{link, os.DevNull} {
		if got := call("", "report", "testdata/result-a.json", "--file", file); got.code != report.ExitMet {
			t.Fatalf("%s", got)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "before" {
		t.Errorf("the old file was written to: %d bytes, %v", len(text), err)
	}
	if text, err := os.ReadFile(old); err != nil || !strings.Contains(string(text), "Phase") && !strings.Contains(string(text), "PHASE") {
		t.Errorf("no report was written: %d bytes, %v", len(text), err)
	}
	for name, mode := range map[string]os.FileMode{link: os.ModeSymlink, os.DevNull: os.ModeDevice | os.ModeCharDevice} {
		if info, err := os.Lstat(name); err != nil || info.Mode().Type() != mode {
			t.Errorf("%s is another kind of file: %v, %v", name, info, err)
		}
	}
	if got := call("", "report", "testdata/result-a.json", "--file", "/dev/full"); got.code != report.ExitFailed {
		t.Errorf("%s", got)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 3 {
		t.Errorf("unexpected files: %v, %v", entries, err)
	}
}

// TestCompareExitCodes checks that the exit code of compare reports a difference only if --equivalent-within is given.
func TestCompareExitCodes(t *testing.T) {
	sides := []string{"compare", "testdata/result-a.json", "testdata/result-b.json"}
	for _, test := range []struct {
		flags []string
		code  int
	}{{nil, 0}, {[]string{"--equivalent-within", "5"}, report.ExitMissed}, {[]string{"--equivalent-within", "100"}, report.ExitMet}} {
		if got := call("", append(append([]string{}, sides...), test.flags...)...); got.code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.flags, got.code, test.code)
		}
	}
}

// TestComparedNames checks that the sides of a comparison get different names, even if runs and files in different
// directories have the same name.
func TestComparedNames(t *testing.T) {
	text, err := os.ReadFile("testdata/result-a.json")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	sides := []string{"compare"}
	for _, name := range []string{"one", "two"} {
		file := filepath.Join(folder, name, "result.json")
		another := strings.Replace(string(text), `"runUID": "c310871c`, `"runUID": "c310871c-`+name, 1)
		for _, err := range []error{os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(another), 0o644)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		sides = append(sides, file)
	}
	if got := call("", sides...); got.code != 0 || !strings.Contains(got.stdout, "two/result.json beside one/result.json\n") {
		t.Errorf("%s", got)
	}
}
