// Package terminal runs commands in a real terminal of a given size, with tmux, and reads its screen.
package terminal

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Terminal is a terminal in which a command runs or has run. It ends with the test.
type Terminal struct {
	t      testing.TB
	socket string
}

// New runs a command in a terminal. When the command ends, the screen shows "exit code N". The command's environment is
// that of the test plus the given variables; tmux sets TERM.
func New(t testing.TB, width, height int, environment []string, words ...string) *Terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is missing: install it, or run make packages")
	}
	on := &Terminal{t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	script := "trap : INT; \"$@\"; echo \"exit code $?\"; sleep 600"
	arguments := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height),
		"env"}, append(environment, "sh", "-c", script, "sh")...)
	on.Tmux(append(arguments, words...)...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", on.socket, "kill-server").Run() })
	return on
}

// Tmux runs a tmux command on the terminal, such as send-keys or resize-window, and returns its output.
func (on *Terminal) Tmux(arguments ...string) string {
	on.t.Helper()
	command := exec.Command("tmux", append([]string{"-S", on.socket}, arguments...)...)
	// tmux must behave as in a UTF-8 terminal, regardless of the test's own locale.
	command.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	if err != nil {
		on.t.Fatalf("tmux %s: %v: %s", arguments[0], err, errors.String())
	}
	return string(output)
}

// Screen returns the visible text.
func (on *Terminal) Screen() string { return on.Tmux("capture-pane", "-p") }

// All returns the visible text together with the scrollback.
func (on *Terminal) All() string { return on.Tmux("capture-pane", "-p", "-S", "-", "-J") }

// Until waits until all words are on the screen at the same time, and returns the screen.
func (on *Terminal) Until(patience time.Duration, words ...string) string {
	on.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		seen := on.Screen()
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
			on.t.Fatalf("%q was not seen in %s:\n%s", missing, patience, on.All())
		}
	}
}

// Ended waits for the end of the command and returns its exit code, which must be one of the given codes.
func (on *Terminal) Ended(patience time.Duration, codes ...int) int {
	on.t.Helper()
	seen := strings.TrimSpace(on.Until(patience, "\nexit code "))
	for _, code := range codes {
		if strings.HasSuffix(seen, "\nexit code "+strconv.Itoa(code)) {
			return code
		}
	}
	on.t.Fatalf("want an exit code of %v:\n%s", codes, on.All())
	return 0
}

// Fits checks that no line reaches the last column of the terminal, where some terminals wrap.
func (on *Terminal) Fits(seen string, columns int) {
	on.t.Helper()
	for number, line := range strings.Split(seen, "\n") {
		if has := utf8.RuneCountInString(line); has >= columns {
			on.t.Errorf("line %d has %d columns: %q", number+1, has, line)
		}
	}
}
