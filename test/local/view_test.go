package local

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// terminal is a real one of so many columns and lines, by tmux.
type terminal struct {
	t      *testing.T
	socket string
}

// newTerminal runs a command in a terminal; what it ends with stays on the screen behind "exit code".
func newTerminal(t *testing.T, width, height int, environment []string, words ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is missing: install it, or run make packages")
	}
	on := &terminal{t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	script := "trap : INT; \"$@\"; echo \"exit code $?\"; sleep 120"
	arguments := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height),
		"env"}, append(environment, "sh", "-c", script, "sh")...)
	on.tmux(append(arguments, words...)...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", on.socket, "kill-server").Run() })
	return on
}

func (on *terminal) tmux(arguments ...string) string {
	on.t.Helper()
	command := exec.Command("tmux", append([]string{"-S", on.socket}, arguments...)...)
	// tmux shows what a terminal of UTF-8 would, whatever the test's own locale is.
	command.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	if err != nil {
		on.t.Fatalf("tmux %s: %v: %s", arguments[0], err, errors.String())
	}
	return string(output)
}

// screen is what is seen now.
func (on *terminal) screen() string { return on.tmux("capture-pane", "-p") }

// all is the screen with what has left it at the top.
func (on *terminal) all() string { return on.tmux("capture-pane", "-p", "-S", "-", "-J") }

// until waits for all of the words to be on the screen at once.
func (on *terminal) until(patience time.Duration, words ...string) string {
	on.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		seen := on.screen()
		missing := ""
		for _, word := range words {
			if !strings.Contains(seen, word) {
				missing = word
			}
		}
		if missing == "" {
			return seen
		}
		if time.Now().After(deadline) {
			on.t.Fatalf("%q was not seen in %s:\n%s", missing, patience, on.all())
		}
	}
}

// TestLiveView looks at the view of a run in a terminal of 80 columns and 24 lines: what is done, what goes on and what
// is to come, in place, over a change of size, and the result below the last frame.
func TestLiveView(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := write(t, "duration: 2s", "duration: 9s")
	on := newTerminal(t, 80, 24, []string{"LANG=C.UTF-8"}, program, "run", "--local", "-f", file, "--target", "data="+directory)
	seen := on.until(time.Minute, "✓ layout", "▶ mixed", "throughput", "IOPS", "latency", "mean", "clients     2 of 2 load", "to go", "Ctrl-C stops the run")
	for number, line := range strings.Split(seen, "\n") {
		if columns := utf8.RuneCountInString(line); columns > 79 {
			t.Errorf("line %d has %d columns: %q", number+1, columns, line)
		}
	}
	once := func(when string) {
		t.Helper()
		if drawn := on.screen(); strings.Count(drawn, "▶ mixed") != 1 {
			t.Errorf("%s the view is there %d times:\n%s", when, strings.Count(drawn, "▶ mixed"), drawn)
		}
	}
	if !strings.ContainsAny(seen, "▂▃▄▅▆▇█") {
		t.Errorf("there is no line of bars:\n%s", seen)
	}
	once("after some seconds")
	on.tmux("resize-window", "-x", "60", "-y", "16")
	time.Sleep(2500 * time.Millisecond)
	once("in a smaller terminal")
	on.tmux("resize-window", "-x", "100", "-y", "40")
	on.until(time.Minute, "exit code 0")
	after := on.all()
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
	on := newTerminal(t, 80, 24, []string{"LANG=C.UTF-8", "NO_COLOR=1"}, program, "run", "--local", "-f", file, "--target", "data="+directory)
	on.until(time.Minute, "▶ mixed", "throughput")
	if coloured := on.tmux("capture-pane", "-p", "-e"); strings.Contains(coloured, "\x1b[3") {
		t.Errorf("there are colours where NO_COLOR is set:\n%q", coloured)
	}
	on.tmux("send-keys", "C-c")
	on.until(time.Minute, "exit code 1")
	after := on.all()
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
	on := newTerminal(t, 80, 24, []string{"LC_ALL=C"}, program, "run", "--local", "-f", write(t, "duration: 2s", "duration: 6s"), "--target", "data="+t.TempDir())
	seen := on.until(time.Minute, "v layout", "> mixed", "throughput")
	for _, r := range seen {
		if r > 127 {
			t.Fatalf("there is %q on a terminal of ASCII:\n%s", r, seen)
		}
	}
	on.until(time.Minute, "exit code 0")
}
