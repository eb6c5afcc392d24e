package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cookieName is an environment variable that marks a command and all its descendants. It identifies descendants even
// outside the process group and the process tree. For example, fio's jobs start their own sessions, and lose their
// parent when it is killed.
const cookieName = "STORAGEBENCH_PROCESS="

// Handle is a started command that leads its own process group.
type Handle struct {
	command *exec.Cmd
	cookie  string
	pid     int
	// startTicks distinguishes the command from a later process with the same PID.
	startTicks uint64
	exited     chan struct{}

	wait    sync.Once
	waitErr error

	// mu guards the field `waited`. It is also held while the group is signalled, to keep the command from being reaped
	// meanwhile. The command's PID, which is also the number of its group, cannot be reused before the command is reaped.
	mu     sync.Mutex
	waited bool
}

// Start starts a command as the leader of a process group. The kernel kills the command when this process dies. The
// command's descendants are killed when the command has exited, or by KillDescendants in the process that adopts them.
// Use Start in place of cmd.Start, and Handle.Wait in place of cmd.Wait; pipes and contexts work as with os/exec.
func Start(command *exec.Cmd) (*Handle, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	command.SysProcAttr.Pgid = 0
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	h := &Handle{command: command, cookie: cookieName + rand.Text(), exited: make(chan struct{})}
	command.Env = append(command.Environ(), h.cookie)
	begun := make(chan error, 1)
	go h.runOnThread(begun)
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("start %s: %w", command.Path, err)
	}
	return h, nil
}

// runOnThread starts the command and returns when it has exited. The kernel sends the parent-death signal when the
// thread that forked exits, even if the process continues, and Go may end an idle thread. So this goroutine stays
// locked to its thread while the command runs.
func (h *Handle) runOnThread(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started.Lock()
	err := h.command.Start()
	if err == nil {
		h.pid = h.command.Process.Pid
		started.pids[h.pid] = true
		// The command's process table entry can be read even if the command has already exited, because the entry
		// remains until the command is reaped.
		if stat, statErr := readStat(fmt.Sprintf("/proc/%d/stat", h.pid)); statErr == nil {
			h.startTicks = stat.StartTicks
		}
	}
	started.Unlock()
	begun <- err
	if err != nil {
		return
	}
	for {
		// WNOWAIT preserves the exit status for Wait, which may be called much later, after its caller has read the pipes.
		err := unix.Waitid(unix.P_PID, h.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	// Kill the remaining descendants. They would keep our pipes open, and could write to files although the command counts
	// as ended. A process that cannot be killed now is blocked on an I/O; the next call of Kill reports it.
	_ = h.Kill()
	close(h.exited)
}

// PID returns the PID of the command's first process, which is also the number of its group.
func (h *Handle) PID() int { return h.pid }

// Exited returns a channel that is closed when the command's first process has exited and its descendants have been
// killed. The channel is closed even if a descendant cannot be killed because it is blocked on an I/O. Wait must still
// be called.
func (h *Handle) Exited() <-chan struct{} { return h.exited }

// Wait is like cmd.Wait: it reaps the process. Read pipes made by StdoutPipe to their end first. Wait may be called
// several times and returns the same error each time.
func (h *Handle) Wait() error {
	h.wait.Do(func() {
		// Wait for the exit without holding mu, so that a caller of Wait does not keep others from killing the command.
		<-h.exited
		h.waitErr = h.collect()
	})
	return h.waitErr
}

func (h *Handle) collect() error {
	// cmd.Wait reaps the process and then waits for the output to be copied, which living children can delay. From here
	// on, the PID may be reused.
	h.mu.Lock()
	h.waited = true
	h.mu.Unlock()
	err := h.command.Wait()
	started.Lock()
	delete(started.pids, h.pid)
	started.Unlock()
	return err
}

// Signal sends a signal to the whole group. It returns os.ErrProcessDone if the command has been reaped.
func (h *Handle) Signal(signal syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waited {
		return os.ErrProcessDone
	}
	if err := unix.Kill(-h.pid, signal); err != nil {
		return fmt.Errorf("send %s to the process group of %s (%d): %w", signal, h.command.Path, h.pid, err)
	}
	return nil
}

// Kill kills the command, its group, and all its descendants. It returns when none of them is alive, or after about a
// second with a *LeftError. It may be called again, even after Wait. It also reaps killed processes that have become
// our children.
func (h *Handle) Kill() error {
	killed := map[int]Process{}
	for round, began := 0, time.Now(); round < killRounds || time.Since(began) < killPatience; round++ {
		left, err := h.members()
		if err != nil {
			return err
		}
		for _, p := range left {
			killed[p.PID] = p
		}
		if len(left) == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(killed)), exiting) {
			started.collect(slices.Collect(maps.Keys(killed)))
			return nil
		}
		if err := killAll(left); err != nil {
			return fmt.Errorf("kill %s (%d): %w", h.command.Path, h.pid, err)
		}
		pause()
	}
	left, err := h.members()
	if err != nil || len(left) == 0 {
		return err
	}
	return &LeftError{Processes: left}
}

// exiting reports whether a killed process is still exiting. Such a process no longer has an environment and may
// have lost its parent, so members does not find it, but its files can still be open.
func exiting(p Process) bool {
	now, err := readStat(fmt.Sprintf("/proc/%d/stat", p.PID))
	return err == nil && now.StartTicks == p.StartTicks && !now.ended()
}

// members lists the living processes of the command: its group, their descendants, and the processes with its cookie.
func (h *Handle) members() ([]Process, error) {
	processes, err := table()
	if err != nil {
		return nil, err
	}
	found := map[int]Process{}
	for _, p := range processes {
		if !h.owns(p) {
			continue
		}
		found[p.PID] = p
		for _, descendant := range descendantsOf(processes, p.PID) {
			found[descendant.PID] = descendant
		}
	}
	alive := slices.Collect(maps.Values(found))
	return slices.DeleteFunc(alive, Process.ended), nil
}

// owns reports whether a process belongs to the command: whether it is in the command's process group or has its
// cookie. The kernel reuses a group number only after the group is empty. The leader of the new group then started
// later than the command, so owns compares their start times.
func (h *Handle) owns(p Process) bool {
	if p.StartTicks < h.startTicks {
		return false
	}
	if p.PGID == h.pid && (p.PID != h.pid || p.StartTicks == h.startTicks) {
		leader, err := readStat(fmt.Sprintf("/proc/%d/stat", h.pid))
		if err != nil || leader.StartTicks == h.startTicks {
			return true
		}
	}
	// The environment of another user's process cannot be read. Such a process does not count as part of the command.
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
	return err == nil && slices.Contains(strings.Split(string(environment), "\x00"), h.cookie)
}
