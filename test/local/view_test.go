package local

import (
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/terminal"
)

// TestLiveView looks at the view of a run in a terminal of 80 columns and 24 lines: what is done, what goes on and what
// is to come, in place, over a change of size, and the result below the last frame.
func TestLiveView(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := write(t, "duration: 2s", "duration: 9s")
	on := terminal.New(t, 80, 24, []string{"LANG=C.UTF-8"}, program, "run", "--local", "-f", file, "--target", "data="+directory)
	seen := on.Until(time.Minute, "✓ layout", "▶ mixed", "throughput", "IOPS", "latency", "mean", "clients     2 of 2 load", "to go", "Ctrl-C stops the run")
	on.Fits(seen, 80)
	once := func(when string) {
		t.Helper()
		// A look may fall into the drawing of a frame; what was drawn twice stays.
		drawn := on.Screen()
		for deadline := time.Now().Add(2 * time.Second); strings.Count(drawn, "▶ mixed") != 1 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			drawn = on.Screen()
		}
		if strings.Count(drawn, "▶ mixed") != 1 {
			t.Errorf("%s the view is there %d times:\n%s", when, strings.Count(drawn, "▶ mixed"), drawn)
		}
	}
	if !strings.ContainsAny(seen, "▂▃▄▅▆▇█") {
		t.Errorf("there is no line of bars:\n%s", seen)
	}
	once("after some seconds")
	on.Tmux("resize-window", "-x", "60", "-y", "16")
	time.Sleep(2500 * time.Millisecond)
	once("in a smaller terminal")
	on.Tmux("resize-window", "-x", "100", "-y", "40")
	on.Until(time.Minute, "exit code 0")
	after := on.All()
	if frame, result := strings.LastIndex(after, "✓ mixed"), strings.LastIndex(after, "complete, valid"); frame < 0 || result < frame {
		t.Errorf("the last frame, with both phases done, is to stand above the result:\n%s", after)
	}
	empty(t, directory)
}

// TestLiveViewStopped presses Ctrl-C: the load ends, the data goes, and what was measured so far is shown.
func TestLiveViewStopped(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := write(t, "duration: 2s", "duration: 300s")
	on := terminal.New(t, 80, 24, []string{"LANG=C.UTF-8", "NO_COLOR=1"}, program, "run", "--local", "-f", file, "--target", "data="+directory)
	on.Until(time.Minute, "▶ mixed", "throughput")
	if coloured := on.Tmux("capture-pane", "-p", "-e"); strings.Contains(coloured, "\x1b[3") {
		t.Errorf("there are colours where NO_COLOR is set:\n%q", coloured)
	}
	on.Tmux("send-keys", "C-c")
	on.Until(time.Minute, "exit code 1")
	after := on.All()
	for _, words := range []string{"FAILED", "Stopped", "layout", "Write"} {
		if !strings.Contains(after, words) {
			t.Errorf("the results so far do not have %q:\n%s", words, after)
		}
	}
	empty(t, directory)
}

// TestLiveViewPlain shows ASCII alone where the locale is no UTF-8.
func TestLiveViewPlain(t *testing.T) {
	t.Parallel()
	on := terminal.New(t, 80, 24, []string{"LC_ALL=C"}, program, "run", "--local", "-f", write(t, "duration: 2s", "duration: 6s"), "--target", "data="+t.TempDir())
	seen := on.Until(time.Minute, "v layout", "> mixed", "throughput")
	for _, r := range seen {
		if r > 127 {
			t.Fatalf("there is %q on a terminal of ASCII:\n%s", r, seen)
		}
	}
	on.Until(time.Minute, "exit code 0")
}
