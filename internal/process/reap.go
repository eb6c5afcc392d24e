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
	// reapAge is the time for which Reap leaves an exited child to a caller that may be waiting for it.
	reapAge = time.Second
)

// Reap reaps exited orphans that this process has adopted, until ctx is done. Otherwise they would fill the process
// table in a long run. Call it once in a process that adopts orphans, which is process 1 or a subreaper.
//
// wait4(-1) would also collect the status of commands that other callers wait for. So Reap waits for individual PIDs.
// It never reaps a command started by Start. It reaps any other child only a second after the child's exit, because a
// caller that waits for a child reaps it sooner.
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

// Collect reaps each given process that has exited and is a child of this process, unless a Handle waits for it. Use it
// for adopted descendants of a command, because Reap would reap them only later.
func Collect(pids []int) { started.collect(pids) }

// endedChild is an exited child that has not been reaped yet.
type endedChild struct {
	startTicks uint64
	// seen is the time at which the child was first found to have exited.
	seen time.Time
}

// reapOnce reaps each exited child that an earlier call first found at least reapAge ago. known holds the exited
// children of the previous call. The result holds the children that were not reaped, for the next call.
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
