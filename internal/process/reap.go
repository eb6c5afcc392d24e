package process

import (
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// reapInterval bounds how long an ended orphan remains in the process table if a signal is lost.
	reapInterval = 2 * time.Second
	// reapAge is how long a child must have ended to count as one that no caller waits for.
	reapAge = time.Second
)

// Reap collects ended orphans that were given to us, until the context ends; otherwise they would fill the process
// table in a long run. It is for process 1 and subreapers, once per process.
//
// wait4(-1) would also take the status of commands that others wait for. So Reap collects by PID: never a command of
// Start, and any other child only a second after its end; a child that a caller waits for does not remain that long.
func Reap(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	defer signal.Stop(signals)
	ticker := time.NewTicker(reapInterval)
	defer ticker.Stop()
	known := map[int]endedChild{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-signals:
			// Checking at once would find only children that are too young.
			select {
			case <-time.After(reapAge):
			case <-ctx.Done():
				return
			}
		}
		known = reapOnce(known, time.Now)
	}
}

// Collect collects those of the given processes that have ended, are our children, and are not waited for by a
// Handle: what a command has started and left to us. Reap would collect them later.
func Collect(pids []int) { started.collect(pids) }

// endedChild is a child that has ended and was not waited for.
type endedChild struct {
	startTicks uint64
	// seen is an instant at which it had ended.
	seen time.Time
}

// reapOnce collects those of the known children that ended at least reapAge ago, and returns the other ended children.
func reapOnce(known map[int]endedChild, now func() time.Time) map[int]endedChild {
	began := now()
	processes, err := table()
	if err != nil {
		return known // nothing is lost; the next round may succeed
	}
	young := map[int]endedChild{}
	var old []int
	for _, p := range processes {
		if p.PPID != os.Getpid() || !p.ended() {
			continue
		}
		child, seen := known[p.PID]
		switch {
		case !seen || child.startTicks != p.StartTicks:
			young[p.PID] = endedChild{startTicks: p.StartTicks, seen: now()}
		case began.Sub(child.seen) < reapAge:
			young[p.PID] = child
		default:
			old = append(old, p.PID)
		}
	}
	started.collect(old)
	return young
}
