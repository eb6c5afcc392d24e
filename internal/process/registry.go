package process

import (
	"sync"

	"golang.org/x/sys/unix"
)

// registry holds the commands that a Handle will wait for. Reap and Collect skip them; otherwise the Handle's wait
// would fail because the command's status is gone.
//
// The lock is held from fork to registration, so that a started command is never visible before it is registered.
type registry struct {
	sync.Mutex
	pids map[int]bool
}

// started is the registry of this process. It is global because reaping concerns the whole process, like the
// kernel's own table of children.
var started = registry{pids: map[int]bool{}}

// collect reaps the given children that have exited, except those that a Handle waits for.
func (r *registry) collect(pids []int) {
	r.Lock()
	defer r.Unlock()
	for _, pid := range pids {
		if r.pids[pid] {
			continue
		}
		var status unix.WaitStatus
		// Ignore the error, which means that another caller has reaped the child.
		_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil)
	}
}
