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
	// killPatience is how long what was killed is waited for, and killRounds how often it is looked for at least: a look takes much
	// of a second where a busy machine has many processes.
	killPatience = time.Second
	killRounds   = 10
	killPause    = 5 * time.Millisecond
	// collectPatience is how many rounds an ended child is left to whoever may wait for it.
	collectPatience = 20
)

func pause() { time.Sleep(killPause) }

// LeftError names what could not be ended.
type LeftError struct{ Processes []Process }

// Error lists the processes. One in state D is inside an I/O that does not come back; the kernel
// ends it when it does.
func (e *LeftError) Error() string {
	names := make([]string, 0, len(e.Processes))
	for _, p := range e.Processes {
		names = append(names, p.String())
	}
	return fmt.Sprintf("still alive after SIGKILL: %s", strings.Join(names, ", "))
}

// SetSubreaper makes the orphans among our descendants our children, so that they can be found and
// ended. Process 1 of a PID namespace has that anyway.
func SetSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// KillDescendants kills everything below a process, but the exceptions and what is below those,
// until nothing is left, or the context ends; then the error is a *LeftError. Children of ours that
// nobody waits for are collected.
//
// A process may fork while it is being killed, so it looks again until a look finds nothing; in a
// process that is not a subreaper an orphan can slip away to somebody else.
func KillDescendants(ctx context.Context, pid int, except ...int) error {
	for patience := collectPatience; ; {
		processes, err := table()
		if err != nil {
			return err
		}
		var alive []Process
		var ended []int
		for _, p := range below(processes, pid, except...) {
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
			patience-- // somebody may be waiting for them, and needs their status
		}
		pause()
	}
}

// killAll sends SIGKILL to each process, but never to one that has taken a number over since.
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
	// The descriptor holds the process, so what is read now is read of the one that is killed.
	now, err := readStat(fmt.Sprintf("/proc/%d/stat", p.PID))
	if isGone(err) || err == nil && now.StartTicks != p.StartTicks {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at process %s: %w", p, err)
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %s: %w", p, err)
	}
	return nil
}
