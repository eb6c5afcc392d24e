package process

import (
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// reapInterval bounds how long an exited orphan remains in the process table if a SIGCHLD signal is lost.
	reapInterval = 2 * time.Second
	// reapAge is the time since a child's exit after which it is assumed that no caller waits for the child.
	reapAge = time.Second
)

// Reap reaps exited orphans that this process has adopted, until ctx is done. Otherwise they would fill the process
// table in a long run. It is for process 1 and subreapers, once per process.
//
// wait4(-1) would also collect the status of commands that other callers wait for. So Reap works by PID. It never reaps
// a command started by Start. It reaps any other child only a second after the child's exit, because a caller that
// waits for a child reaps it sooner.
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
			// Wait first, because a child that has just exited may be reaped only after reapAge.
			select {
			case <-time.After(reapAge):
			case <-ctx.Done():
				return
			}
		}
		known = reapOnce(known, time.Now)
	}
}

// Collect reaps those of the given processes that have exited and are our children, unless a Handle waits for them. It
// is for adopted descendants of a command, which Reap would reap only later.
func Collect(pids []int) { started.collect(pids) }

// endedChild is an exited child that was not reaped.
type endedChild struct {
	startTicks uint64
	// seen is the time at which the child was first found to have exited.
	seen time.Time
}

// reapOnce reaps those of the known children that were first found to have exited at least reapAge ago, and returns the
// other exited children.
func reapOnce(known map[int]endedChild, now func() time.Time) map[int]endedChild {
	began := now()
	processes, err := table()
	if err != nil {
		return known // the process table cannot be read, so keep the children for the next round
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
