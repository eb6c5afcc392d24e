package process

import (
	"sync"

	"golang.org/x/sys/unix"
)

// registry holds the commands that a Handle will wait for. Collectors of orphans leave them alone; otherwise the
// Handle would find its command's status gone.
//
// The lock is held over fork and registration, so that no collector sees a command that was started and is not
// registered.
type registry struct {
	sync.Mutex
	pids map[int]bool
}

// started is the registry of this process. It is global because waiting concerns the whole process, like the kernel's
// own table of children.
var started = registry{pids: map[int]bool{}}

// collect waits for those of the given ended children that no Handle waits for.
func (r *registry) collect(pids []int) {
	r.Lock()
	defer r.Unlock()
	for _, pid := range pids {
		if r.pids[pid] {
			continue
		}
		var status unix.WaitStatus
		// An error means that another caller was faster.
		_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil)
	}
}
