package process

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

var errSkeleton = errors.New("not built yet")

// Handle is a started command in a process group of its own.
type Handle struct{}

// Start starts a command in a process group of its own that is killed when we die. Use it in place
// of cmd.Start; the command's pipes and context work as with os/exec.
func Start(cmd *exec.Cmd) (*Handle, error) { return nil, errSkeleton }

// PID is the process and also the group.
func (h *Handle) PID() int { return 0 }

// Exited is closed when the command has ended, before anybody called Wait.
func (h *Handle) Exited() <-chan struct{} { return nil }

// Signal sends a signal to the whole group; os.ErrProcessDone when the command has been waited for.
func (h *Handle) Signal(signal syscall.Signal) error { return errSkeleton }

// Kill kills the whole group and all descendants of the command that left it.
func (h *Handle) Kill() error { return errSkeleton }

// Wait is cmd.Wait: read pipes to their end first. Every call gives the same error.
func (h *Handle) Wait() error { return errSkeleton }

// SetSubreaper makes this process inherit the orphans among its descendants.
func SetSubreaper() error { return errSkeleton }

// Reap collects orphans that ended, until the context ends. It leaves commands that were started
// by Start, and any child that somebody is waiting for, alone.
func Reap(ctx context.Context) {}

// Process is a line of the process table.
type Process struct {
	PID, PPID, PGID, Session int
	Command                  string
	// State is the kernel's letter: R, S, D (inside an I/O), Z (ended, not waited for) ...
	State byte
	// StartTicks tells a process from a later one with the same PID.
	StartTicks uint64
}

// Descendants lists all processes below one, parents first.
func Descendants(pid int) ([]Process, error) { return nil, errSkeleton }

// KillDescendants kills everything below a process until nothing is left but the exceptions and
// what is below them, or the context ends; the error then names what is left.
func KillDescendants(ctx context.Context, pid int, except ...int) error { return errSkeleton }

// Worker is a task that does I/O for a tool.
type Worker struct {
	PID, TID     int
	Command      string
	State        byte
	OnCPU        time.Duration
	SwitchedIn   uint64
	StartedTicks uint64
}

// Workers lists the tasks that do the I/O of a fio process.
func Workers(pid int) ([]Worker, error) { return nil, errSkeleton }

// Progress remembers when each worker of a fio process last ran.
type Progress struct{}

// Observe takes a look at a fio process at an instant.
func (p *Progress) Observe(pid int, now time.Duration) error { return errSkeleton }

// Stalled lists the workers that have not run since before now-age.
func (p *Progress) Stalled(now, age time.Duration) []Worker { return nil }

// TreeCPU is the processor time that a process and all its descendants used, also those that ended
// and were waited for.
func TreeCPU(pid int) (time.Duration, error) { return 0, errSkeleton }

// CgroupCPUStat is the text of our control group's cpu.stat, of version 1 or 2.
func CgroupCPUStat() (string, error) { return "", errSkeleton }
