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

// cookieName is in the environment of a command and of all that it starts, so that they are known
// wherever they go: fio's jobs make sessions of their own and lose their parent when it is killed.
const cookieName = "STORAGEBENCH_PROCESS="

// Handle is a started command that leads a process group of its own.
type Handle struct {
	command *exec.Cmd
	cookie  string
	pid     int
	// startTicks tells the command from a later process with its number.
	startTicks uint64
	exited     chan struct{}

	wait    sync.Once
	waitErr error

	// mu is held while the command is waited for and while the group is signalled: until the wait
	// the PID, and with it the group's number, cannot be given to anybody else.
	mu     sync.Mutex
	waited bool
}

// Start starts a command as the leader of a process group. The command is killed by the kernel when
// we die; what it started is killed when the command has ended, or by KillDescendants of whoever
// inherits it. Use Start in place of cmd.Start, and Handle.Wait in place of cmd.Wait; pipes and
// contexts work as with os/exec.
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
		// It may have ended, but cannot be gone before it was waited for.
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
		// WNOWAIT leaves the status to Wait, which may come later: its caller reads pipes first.
		err := unix.Waitid(unix.P_PID, h.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	// Orphans hold our pipes open and write to files that others may think free. What cannot be
	// killed now is inside an I/O; Kill, which the user of a Handle calls too, tells of it.
	_ = h.Kill()
	close(h.exited)
}

// PID is the number of the command's first process, and of its group.
func (h *Handle) PID() int { return h.pid }

// Exited is closed when the command's first process has ended and what it left was killed. Wait is
// still to be called.
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

// Kill kills the command, its group, and whatever it has started, and returns when none is left
// alive, or after a second with a *LeftError. It may be called again, also after Wait. What it has killed
// and is a child of ours by then is collected.
func (h *Handle) Kill() error {
	var killed []int
	for round, began := 0, time.Now(); round < killRounds || time.Since(began) < killPatience; round++ {
		left, err := h.members()
		if err != nil {
			return err
		}
		if len(left) == 0 {
			started.collect(killed)
			return nil
		}
		for _, p := range left {
			killed = append(killed, p.PID)
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

// members lists what is alive of the command: its group, what is below that, and what carries its
// cookie.
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
		for _, descendant := range below(processes, p.PID) {
			found[descendant.PID] = descendant
		}
	}
	alive := slices.Collect(maps.Values(found))
	return slices.DeleteFunc(alive, Process.ended), nil
}

// owns is true for the processes of the group and those with the cookie. The kernel gives the
// number of a group to another process only when the group is empty; then its leader is younger.
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
	// Processes of other users cannot be read, and are not ours.
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
	return err == nil && slices.Contains(strings.Split(string(environment), "\x00"), h.cookie)
}
