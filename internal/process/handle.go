package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Handle is a started command that leads a process group of its own.
type Handle struct {
	command *exec.Cmd
	pid     int
	exited  chan struct{}

	wait    sync.Once
	waitErr error

	// mu is held while the command is waited for and while the group is signalled: until the wait
	// the PID, and with it the group's number, cannot be given to anybody else.
	mu     sync.Mutex
	waited bool
}

// Start starts a command as the leader of a process group that the kernel kills when we die: its
// first process by the death signal, and what that has started by KillDescendants of whoever
// inherits it. Use it in place of cmd.Start, and Handle.Wait in place of cmd.Wait; pipes and
// contexts work as with os/exec.
func Start(command *exec.Cmd) (*Handle, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	command.SysProcAttr.Pgid = 0
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	h := &Handle{command: command, exited: make(chan struct{})}
	begun := make(chan error, 1)
	go h.attend(begun)
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("start %s: %w", command.Path, err)
	}
	return h, nil
}

// attend starts the command and stays until it has ended. The kernel sends the death signal when
// the thread ends that has forked, not the process, and Go ends idle threads; so this goroutine
// keeps its thread to itself for as long as the command lives.
func (h *Handle) attend(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started.Lock()
	err := h.command.Start()
	if err == nil {
		h.pid = h.command.Process.Pid
		started.pids[h.pid] = true
	}
	started.Unlock()
	begun <- err
	if err != nil {
		return
	}
	for {
		// WNOWAIT leaves the status to Wait, which may come later: its caller reads pipes first.
		err := unix.Waitid(unix.P_PID, h.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	close(h.exited)
}

// PID is the number of the command's first process, and of its group.
func (h *Handle) PID() int { return h.pid }

// Exited is closed when the command's first process has ended. Wait is still to be called.
func (h *Handle) Exited() <-chan struct{} { return h.exited }

// Wait is cmd.Wait: it collects the status once pipes made by StdoutPipe were read to their end. It
// may be called several times and gives the same error each time.
func (h *Handle) Wait() error {
	h.wait.Do(func() {
		// Not under the lock yet: whoever waits must not keep others from killing.
		<-h.exited
		h.waitErr = h.collect()
	})
	return h.waitErr
}

func (h *Handle) collect() error {
	// cmd.Wait collects the status and then waits for the copying of output, which children that
	// still live can hold up. From here on the PID may be given away.
	h.mu.Lock()
	h.waited = true
	h.mu.Unlock()
	err := h.command.Wait()
	started.Lock()
	delete(started.pids, h.pid)
	started.Unlock()
	return err
}

// Signal sends a signal to the whole group; os.ErrProcessDone when the command was waited for.
func (h *Handle) Signal(signal syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waited {
		return os.ErrProcessDone
	}
	if err := unix.Kill(-h.pid, signal); err != nil {
		return fmt.Errorf("send %s to the group of %s (%d): %w", signal, h.command.Path, h.pid, err)
	}
	return nil
}

// Kill kills the command, its group, and whatever is below any of them, and returns when none is
// left alive. It may be called again after Wait, for what the command has left in its group. What
// has left the group and lost its parent is nobody's here: see KillDescendants.
func (h *Handle) Kill() error {
	for range killRounds {
		left, err := h.members()
		if err != nil {
			return err
		}
		if len(left) == 0 {
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

// members lists what is alive of the group and below it.
func (h *Handle) members() ([]Process, error) {
	processes, err := table()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	waited := h.waited
	h.mu.Unlock()
	var found []Process
	seen := map[int]bool{}
	add := func(p Process) {
		if !p.ended() && !seen[p.PID] {
			seen[p.PID] = true
			found = append(found, p)
		}
	}
	for _, p := range processes {
		if p.PGID != h.pid {
			continue
		}
		if waited && p.PID == h.pid {
			// The number was given to another process, which the kernel does only when the group
			// that had it is empty.
			return nil, nil
		}
		add(p)
		for _, descendant := range below(processes, p.PID) {
			add(descendant)
		}
	}
	return found, nil
}
