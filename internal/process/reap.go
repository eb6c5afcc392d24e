package process

import (
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// reapInterval bounds how long an orphan's remains lie about when a signal is lost.
	reapInterval = 2 * time.Second
	// reapAge is how long a child must have ended before it is taken for one that nobody waits for.
	reapAge = time.Second
)

// Reap collects orphans that were given to us and have ended, until the context ends; else they
// fill the process table of a long run. It is for process 1 and subreapers, once in a process.
//
// wait4(-1) would do it and steal the status of commands that others wait for. So it collects by
// PID: never a command of Start, and any other child only when it has lain there for a second,
// which no child does that somebody waits for.
func Reap(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	defer signal.Stop(signals)
	ticker := time.NewTicker(reapInterval)
	defer ticker.Stop()
	known := map[int]uint64{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-signals:
			// Looking at once would find only what is too young.
			select {
			case <-time.After(reapAge):
			case <-ctx.Done():
				return
			}
		}
		known = reapOnce(known)
	}
}

// Collect collects those of some processes that have ended, are children of ours, and are not waited for by a Handle: what a
// command has started and left to us. Reap would do it, in a while.
func Collect(pids []int) { started.collect(pids) }

// reapOnce collects the ended children that were known already and returns those seen first now.
func reapOnce(known map[int]uint64) map[int]uint64 {
	processes, err := table()
	if err != nil {
		return known // nothing is lost; the next look may see more
	}
	fresh := map[int]uint64{}
	var old []int
	for _, p := range processes {
		if p.PPID != os.Getpid() || !p.ended() {
			continue
		}
		if start, seen := known[p.PID]; seen && start == p.StartTicks {
			old = append(old, p.PID)
			continue
		}
		fresh[p.PID] = p.StartTicks
	}
	started.collect(old)
	return fresh
}
