package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestHandleRunsACommand(t *testing.T) {
	command := exec.CommandContext(t.Context(), "sh", "-c", "cat; echo err >&2; exit 4")
	var stderr strings.Builder
	command.Stderr = &stderr
	stdin, err := command.StdinPipe()
	must(t, err)
	stdout, err := command.StdoutPipe()
	must(t, err)
	h, err := Start(command)
	must(t, err)
	go func() {
		_, _ = io.WriteString(stdin, strings.Repeat("x", 1<<20))
		_ = stdin.Close()
	}()
	text, err := io.ReadAll(stdout)
	must(t, err)
	<-h.Exited()
	time.Sleep(10 * time.Millisecond) // nothing may be lost between exit and Wait
	for range 2 {
		var exit *exec.ExitError
		if err := h.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 4 {
			t.Errorf("got %v, want exit 4", err)
		}
	}
	if len(text) != 1<<20 || stderr.String() != "err\n" {
		t.Errorf("%d bytes of output, errors %q", len(text), stderr.String())
	}
	if err := h.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal after the end: %v", err)
	}
	must(t, h.Kill())
}

func TestHandleStartFails(t *testing.T) {
	h, err := Start(exec.CommandContext(t.Context(), "/nonexistent/tool"))
	if h != nil || err == nil || !strings.Contains(err.Error(), "/nonexistent/tool") {
		t.Errorf("got %v, %v", h, err)
	}
}

func TestHandleLeadsAGroup(t *testing.T) {
	h := mustStart(t, "sh", "-c", "sleep 1000 & sleep 1000 & wait")
	eventually(t, "the children do not run", func() bool {
		found, err := Descendants(h.PID())
		return err == nil && len(found) == 2 && found[0].Command == "sleep" && found[1].Command == "sleep"
	})
	found, err := Descendants(h.PID())
	must(t, err)
	for _, p := range found {
		if p.PGID != h.PID() || p.PPID != h.PID() || p.Command != "sleep" {
			t.Errorf("got %+v", p)
		}
	}
	if stat, err := readStat("/proc/self/stat"); err != nil || stat.PGID == h.PID() {
		t.Errorf("our own group is %d, %v", stat.PGID, err)
	}
	must(t, h.Signal(syscall.SIGTERM))
	if err := h.Wait(); signalled(err) != syscall.SIGTERM {
		t.Errorf("got %v", err)
	}
	for _, p := range found {
		eventually(t, "a child survives the group's signal", func() bool { return !alive(p.PID) })
	}
}

// TestTheEndOfTheLeaderIsTheEndOfAll checks that processes that a command leaves behind, inside and outside of its
// process group, are killed when it exits. They hold the output open, so reading it would never end if they survived.
func TestTheEndOfTheLeaderIsTheEndOfAll(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	command := exec.CommandContext(t.Context(), "sh", "-c",
		"sleep 1000 & setsid sh -c 'echo $$; touch "+told+"; sleep 1000' & until [ -e "+told+" ]; do sleep 0.02; done; exit 6")
	stdout, err := command.StdoutPipe()
	must(t, err)
	h, err := Start(command)
	must(t, err)
	text, err := io.ReadAll(stdout)
	must(t, err)
	outside, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	<-h.Exited()
	left, err := h.members()
	must(t, err)
	if len(left) != 0 || alive(outside) {
		t.Errorf("left: %v, the one outside the group lives: %t", left, alive(outside))
	}
	var exit *exec.ExitError
	if err := h.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 6 {
		t.Errorf("got %v, want exit 6", err)
	}
}

// TestKillReachesOtherSessions checks that a grandchild that left the process group and the session still counts as a
// descendant of the command.
func TestKillReachesOtherSessions(t *testing.T) {
	// The shell continues if its child is killed first.
	h := mustStart(t, "sh", "-c", "setsid sleep 1000 & wait; exec sleep 1000")
	var outside Process
	eventually(t, "the child does not leave the session", func() bool {
		found, err := Descendants(h.PID())
		must(t, err)
		for _, p := range found {
			if p.Command == "sleep" && p.PGID != h.PID() {
				outside = p
			}
		}
		return outside.PID != 0
	})
	must(t, h.Kill())
	if alive(outside.PID) || alive(h.PID()) {
		t.Error("a process is still alive")
	}
	if err := h.Wait(); signalled(err) != syscall.SIGKILL {
		t.Errorf("got %v", err)
	}
}

func TestHandleObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h, err := Start(exec.CommandContext(ctx, "sleep", "1000"))
	must(t, err)
	cancel()
	if err := h.Wait(); err == nil {
		t.Error("a command whose context ended ended well")
	}
}

func TestKillDescendants(t *testing.T) {
	// The tree has a process in another session, one that ignores signals, and one that keeps forking.
	h := mustStart(t, "sh", "-c", `
		(trap '' TERM INT HUP; sleep 1000) &
		setsid sh -c 'sleep 1000 & wait' &
		(while :; do sleep 0.01; done) &
		sleep 1001 &
		wait`)
	var spared int
	eventually(t, "the tree does not grow", func() bool {
		found, err := Descendants(h.PID())
		must(t, err)
		for _, p := range found {
			text, _ := os.ReadFile("/proc/" + itoa(p.PID) + "/cmdline")
			if string(text) == "sleep\x001001\x00" {
				spared = p.PID
			}
		}
		return len(found) >= 6 && spared != 0
	})
	must(t, KillDescendants(t.Context(), h.PID(), spared))
	if !alive(spared) || !alive(h.PID()) {
		t.Error("the exception or the root was killed")
	}
	found, err := Descendants(h.PID())
	must(t, err)
	for _, p := range found {
		if !p.ended() && p.PID != spared {
			t.Errorf("%s is still alive", p)
		}
	}
	must(t, KillDescendants(t.Context(), h.PID()))
	if alive(spared) {
		t.Error("without exceptions it is still alive")
	}
	must(t, KillDescendants(t.Context(), h.PID())) // not an error if there is nothing to kill
}

func TestKillDescendantsSaysWhatIsLeft(t *testing.T) {
	h := mustStart(t, "sh", "-c", "sleep 1000 & wait")
	// Until it runs sleep, the child is a copy of the shell.
	eventually(t, "no child", func() bool {
		found, _ := Descendants(h.PID())
		return len(found) == 1 && found[0].Command == "sleep"
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := KillDescendants(ctx, h.PID())
	var left *LeftError
	if !errors.As(err, &left) || !strings.Contains(err.Error(), "sleep") {
		t.Errorf("got %v", err)
	}
}

// TestKillOneChecksWhoItIs checks that a process that reuses a PID is not killed in place of the earlier one.
func TestKillOneChecksWhoItIs(t *testing.T) {
	h := mustStart(t, "sleep", "1000")
	p, err := readStat("/proc/" + itoa(h.PID()) + "/stat")
	must(t, err)
	p.StartTicks--
	must(t, killOne(p))
	if !alive(h.PID()) {
		t.Error("another process was killed")
	}
}
