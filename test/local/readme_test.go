package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/terminal"
)

// readmeCommands are the lines of the block of the README's section on runs without a cluster, as they stand.
func readmeCommands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Without a cluster\n")
	_, block, begins := strings.Cut(section, "\n```sh\n")
	block, _, ends := strings.Cut(block, "\n```\n")
	if !found || !begins || !ends {
		t.Fatal("the README has no block of commands in the section \"Without a cluster\"")
	}
	return strings.Split(block, "\n")
}

// TestReadme types the README's local command as it stands into a terminal: it shows a live view and a result, and writes
// a page, in under a minute after the build.
func TestReadme(t *testing.T) {
	commands := readmeCommands(t)
	if commands[0] != "make build" || len(commands) != 3 {
		t.Fatalf("the commands are %q; the first one, the build, is what was done before the tests", commands)
	}
	// A folder that looks like a clone after the build.
	folder := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{filepath.Join(root, "config"): "config", program: "bin/kubectl-storagebench"} {
		to = filepath.Join(folder, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	on := terminal.New(t, 80, 24, []string{"LANG=C.UTF-8"}, "sh", "-c", "cd '"+folder+"' && "+strings.Join(commands[1:], " && "))
	on.Until(time.Minute, "✓ layout", "▶ write", "· read", "throughput", "clients     4 of 4 load")
	on.Until(time.Minute, "▶ read")
	on.Until(time.Minute, "exit code 0")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("it took %s", took.Round(time.Second))
	}
	if seen := on.All(); !strings.Contains(seen, "quickstart  complete, valid") || !strings.Contains(seen, "P99") {
		t.Errorf("there is no result:\n%s", seen)
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
	empty(t, filepath.Join(folder, "bin", "data"))
}
