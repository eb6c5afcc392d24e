package process

import (
	"os/exec"
	"testing"
	"time"
)

// TestReapLeavesYoungChildren checks that a round that follows another immediately, for example because a tick was due
// in between, does not take an exit status for which a caller may still wait.
func TestReapLeavesYoungChildren(t *testing.T) {
	now := time.Now()
	round := func(known map[int]endedChild) map[int]endedChild {
		return reapOnce(known, func() time.Time { return now })
	}
	ended := func(script string) *exec.Cmd {
		t.Helper()
		command := exec.CommandContext(t.Context(), "sh", "-c", script)
		must(t, command.Start())
		eventually(t, "it does not end", func() bool { return !alive(command.Process.Pid) })
		return command
	}
	waited, orphan := ended("exit 3"), ended("exit 4")
	known := round(round(nil))
	now = now.Add(reapAge - 1)
	known = round(known)
	if err := waited.Wait(); waited.ProcessState == nil || waited.ProcessState.ExitCode() != 3 {
		t.Errorf("its status was stolen: %v", err)
	}
	now = now.Add(1)
	if known = round(known); len(known) != 0 {
		t.Errorf("still known: %v", known)
	}
	if err := orphan.Wait(); orphan.ProcessState != nil {
		t.Errorf("an orphan was not reaped: %v", err)
	}
}
