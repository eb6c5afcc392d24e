package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/terminal"
)

// readmeCommands returns the lines of the command block in the README's section on runs without a cluster.
func readmeCommands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## On this machine\n")
	_, block, begins := strings.Cut(section, "\n```sh\n")
	block, _, ends := strings.Cut(block, "\n```\n")
	if !found || !begins || !ends {
		t.Fatal("the README has no block of commands in the section \"On this machine\"")
	}
	return strings.Split(block, "\n")
}

// TestReadme types the README's local commands into a terminal and checks that the run shows a live view and a result,
// and writes a page. The test shortens the sample's phases and also saves the result as JSON.
func TestReadme(t *testing.T) {
	t.Parallel()
	commands := readmeCommands(t)
	if commands[0] != "make build" || len(commands) != 3 {
		t.Fatalf("the commands are %q, want 3 that begin with \"make build\", which ran before the tests", commands)
	}
	// A directory that looks like a clone after the build.
	folder := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sample := "config/samples/quickstart.yaml"
	for _, file := range []string{sample, "bin/kubectl-storagebench"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, sample))
	if err != nil {
		t.Fatal(err)
	}
	const long, short = "steady: {duration: 10s, warmUp: 2s}", "steady: {duration: 2s}"
	if strings.Count(string(text), long) != 2 {
		t.Fatalf("want two phases with %q:\n%s", long, text)
	}
	if err := os.WriteFile(filepath.Join(folder, sample), []byte(strings.ReplaceAll(string(text), long, short)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(Program, filepath.Join(folder, "bin/kubectl-storagebench")); err != nil {
		t.Fatal(err)
	}
	on := terminal.New(t, 80, 24, []string{"LANG=C.UTF-8"}, "sh", "-c", "cd '"+folder+"' && "+strings.Join(commands[1:], " && ")+" --save result.json")
	code := on.Ended(hang.Guard, report.ExitMet, report.ExitInvalid)
	after := on.All()
	result, err := os.ReadFile(filepath.Join(folder, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	ValidButForLoad(t, Outcome{Code: code, Stdout: string(result), Stderr: after})
	for _, words := range []string{"✓ layout", "✓ write", "✓ read", "quickstart  complete", "P99"} {
		if !strings.Contains(after, words) {
			t.Errorf("there is no %q:\n%s", words, after)
		}
	}
	if frame, result := strings.LastIndex(after, "✓ read"), strings.LastIndex(after, "quickstart  complete"); result < frame {
		t.Errorf("the last frame is not above the result:\n%s", after)
	}
	page, err := os.ReadFile(filepath.Join(folder, "bin", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<!DOCTYPE html>", "<svg", "quickstart", "write", "read", "</html>"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("the page has no %q", part)
		}
	}
	Empty(t, filepath.Join(folder, "bin", "data"))
}
