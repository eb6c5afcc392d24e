package local

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/terminal"
)

// TestLiveView watches the view of a run in a terminal of 80 columns and 24 lines. The view must show done, current and
// later phases in place, also after the terminal was resized. Ctrl-C must end the load, remove the data and show the
// results so far.
func TestLiveView(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := Write(t, "duration: 1s", "duration: 300s")
	on := terminal.New(t, 80, 24, []string{"LANG=C.UTF-8"}, Program, "run", "--local", "-f", file, "--target", "data="+directory)
	seen := on.Until(hang.Guard, "✓ layout", "▶ mixed", "throughput", "IOPS", "latency", "mean", "clients     2 of 2 load", "to go", "Ctrl-C stops the run")
	on.Fits(seen, 80)
	if !strings.ContainsAny(seen, "▂▃▄▅▆▇█") {
		t.Errorf("there is no line of bars:\n%s", seen)
	}
	// The screen may be read while a frame is being drawn; only a view that was drawn twice stays.
	once := func() {
		t.Helper()
		hang.Until(t, "the view is there once", func() bool { return strings.Count(on.Screen(), "▶ mixed") == 1 })
	}
	once()
	on.Tmux("resize-window", "-x", "60", "-y", "16")
	on.Until(hang.Guard, "▶ mixed", "to go")
	once()
	on.Tmux("resize-window", "-x", "100", "-y", "40")
	on.Until(hang.Guard, "▶ mixed", "to go")
	once()
	on.Tmux("send-keys", "C-c")
	on.Ended(hang.Guard, report.ExitFailed)
	after := on.All()
	for _, words := range []string{"Cancelled", "Stopped", "layout", "Write"} {
		if !strings.Contains(after, words) {
			t.Errorf("the results so far do not have %q:\n%s", words, after)
		}
	}
	Empty(t, directory)
}

// TestReportOnTerminal checks that a terminal shows a result with a chart over time, in characters that its locale has.
func TestReportOnTerminal(t *testing.T) {
	t.Parallel()
	for locale, sign := range map[string]string{"LC_ALL=C.UTF-8": "█", "LC_ALL=C": "#"} {
		on := terminal.New(t, 104, 45, []string{locale}, Program, "report", "../../internal/cli/testdata/result-a.json")
		on.Ended(hang.Guard, report.ExitMet)
		seen := on.All()
		on.Fits(seen, 104)
		_, drawn, _ := strings.Cut(seen, "Throughput over time")
		if drawn, _, _ = strings.Cut(drawn, "PHASES"); !strings.Contains(drawn, sign) || !strings.Contains(drawn, "write") {
			t.Errorf("%s: no chart:\n%s", locale, seen)
		}
	}
}

// TestLiveViewPlain checks that the view is plain ASCII if the locale is not UTF-8, and without colours if NO_COLOR is
// set.
func TestLiveViewPlain(t *testing.T) {
	t.Parallel()
	file := Write(t, "duration: 1s", "duration: 300s")
	on := terminal.New(t, 80, 24, []string{"LC_ALL=C", "NO_COLOR=1"}, Program, "run", "--local", "-f", file, "--target", "data="+t.TempDir())
	seen := on.Until(hang.Guard, "v layout", "> mixed", "throughput")
	for _, r := range seen {
		if r > 127 {
			t.Fatalf("there is %q on a terminal of ASCII:\n%s", r, seen)
		}
	}
	if coloured := on.Tmux("capture-pane", "-p", "-e"); strings.Contains(coloured, "\x1b[3") {
		t.Errorf("there are colours where NO_COLOR is set:\n%q", coloured)
	}
	on.Tmux("send-keys", "C-c")
	on.Ended(hang.Guard, report.ExitFailed)
}
