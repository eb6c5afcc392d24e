package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killPatience limits how long to wait for killed processes. killRounds is the minimum number of checks, even if
	// killPatience has passed, because on a busy machine with many processes, a single check can take most of a second.
	killPatience = time.Second
	killRounds   = 10
	killPause    = 5 * time.Millisecond
	// collectPatience is the number of killPause intervals that KillDescendants waits before it reaps an exited child,
	// because another caller may be waiting for that child.
	collectPatience = 20
)

func pause() { time.Sleep(killPause) }

// LeftError lists the processes that could not be killed.
type LeftError struct{ Processes []Process }

// Error lists the processes. A process in state D is blocked on an I/O that has not completed; the kernel ends the
// process when the I/O completes.
func (e *LeftError) Error() string {
	names := make([]string, 0, len(e.Processes))
	for _, p := range e.Processes {
		names = append(names, p.String())
	}
	return fmt.Sprintf("still alive after SIGKILL: %s", strings.Join(names, ", "))
}

// SetSubreaper makes this process adopt the orphans among its descendants, so that they can be found and killed.
// Process 1 of a PID namespace adopts them anyway.
func SetSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the subreaper of orphaned processes: %w", err)
	}
	return nil
}

// KillDescendants kills all descendants of a process, except the given processes and their descendants. It returns when
// none is left, or with a *LeftError when ctx is done. It reaps those children of this process that no caller waits
// for.
//
// A process may fork while it is being killed, so KillDescendants repeats until it finds nothing. If the process is
// not a subreaper, an orphan can escape to another parent.
func KillDescendants(ctx context.Context, pid int, except ...int) error {
	for patience := collectPatience; ; {
		processes, err := table()
		if err != nil {
			return err
		}
		var alive []Process
		var ended []int
		for _, p := range descendantsOf(processes, pid, except...) {
			switch {
			case !p.ended():
				alive = append(alive, p)
			case p.PPID == os.Getpid():
				ended = append(ended, p.PID)
			}
		}
		switch {
		case len(alive) > 0:
			if err := killAll(alive); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return &LeftError{Processes: alive}
			}
		case len(ended) == 0:
			return nil
		case patience == 0:
			started.collect(ended)
			return nil
		default:
			// Do not reap the exited children yet: another goroutine may be waiting for them and need their status.
			patience--
		}
		pause()
	}
}

// killAll sends SIGKILL to each process, but never to a later process with the same PID.
func killAll(processes []Process) error {
	var failed error
	for _, p := range processes {
		if err := killOne(p); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func killOne(p Process) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %s: %w", p, err)
	}
	defer func() { _ = unix.Close(fd) }()
	// Read the entry only now. If it is still the entry of p, then p had the PID when the pidfd was opened, so the
	// signal can only reach p.
	now, err := readStat(fmt.Sprintf("/proc/%d/stat", p.PID))
	if isGone(err) || err == nil && now.StartTicks != p.StartTicks {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspect process %s: %w", p, err)
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %s: %w", p, err)
	}
	return nil
}
