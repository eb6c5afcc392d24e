package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/process"
)

// System is what MPI jobs and users' programs need of the machine: it starts processes, knows what they have read and
// written, and reaches the agents of other clients. An agent has this machine unless a simulation gives it another.
type System interface {
	// Find returns the path of a program, searched in a list of folders as in PATH.
	Find(name, path string) (string, error)
	// Start starts a program like process.Start.
	Start(command *exec.Cmd) (Program, error)
	// Tend starts `agent tend`: the first byte written to start starts its program, and it reports to news. The program
	// inherits hold unless that is nil.
	Tend(command *exec.Cmd, hold *os.File) (tended Program, start io.WriteCloser, news io.ReadCloser, err error)
	// ReadIO, Descendants, State, HasOpenBelow and DeviceIO are those of the package process.
	ReadIO(pid int) (process.IO, error)
	Descendants(pid int) ([]process.Process, error)
	State(pid int) (process.Process, error)
	HasOpenBelow(pid int, directory string) bool
	DeviceIO(device uint64) (process.DeviceIO, error)
	// Sync makes the file system of a directory write out what is in memory.
	Sync(directory string) error
	// Dialer returns what connects to other agents; nil for gRPC's own.
	Dialer() func(ctx context.Context, address string) (net.Conn, error)
}

// Program is a process that a System has started, with everything below it.
type Program interface {
	PID() int
	// Exited is closed when the process has ended and nothing is left below it.
	Exited() <-chan struct{}
	// Terminate sends SIGTERM to the process, or to its whole group.
	Terminate(group bool) error
	// Kill kills the process and everything below it; its error names what is left.
	Kill() error
	// Wait waits for the end of the process and of its output. It may be called several times.
	Wait() *Exit
}

// Exit describes how a process ended.
type Exit struct {
	Status syscall.WaitStatus
	// Busy is the CPU time of the process and of all children that it waited for.
	Busy time.Duration
}

// exitFrom returns nil for a process that was not waited for.
func exitFrom(state *os.ProcessState) *Exit {
	if state == nil {
		return nil
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	return &Exit{Status: status, Busy: state.UserTime() + state.SystemTime()}
}

// String returns the words of os.ProcessState.
func (e *Exit) String() string {
	switch {
	case e == nil:
		return "not ended"
	case e.Status.Signaled():
		return "signal: " + e.Status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", e.Status.ExitStatus())
}

// thisMachine is the System of an agent that runs in earnest.
type thisMachine struct{}

var _ System = thisMachine{}

// localProcess is a process of this machine.
type localProcess struct {
	*process.Handle
	command *exec.Cmd
}

// Start implements System.
func (thisMachine) Start(command *exec.Cmd) (Program, error) {
	handle, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	return localProcess{handle, command}, nil
}

// Terminate implements Program.
func (p localProcess) Terminate(group bool) error {
	if group {
		return p.Signal(syscall.SIGTERM)
	}
	return syscall.Kill(p.PID(), syscall.SIGTERM)
}

// Wait implements Program. The exit status is read from the command's state.
func (p localProcess) Wait() *Exit {
	_ = p.Handle.Wait()
	return exitFrom(p.command.ProcessState)
}

// ReadIO implements System.
func (thisMachine) ReadIO(pid int) (process.IO, error) { return process.ReadIO(pid) }

// Descendants implements System.
func (thisMachine) Descendants(pid int) ([]process.Process, error) { return process.Descendants(pid) }

// State implements System.
func (thisMachine) State(pid int) (process.Process, error) { return process.State(pid) }

// HasOpenBelow implements System.
func (thisMachine) HasOpenBelow(pid int, directory string) bool {
	return process.HasOpenBelow(pid, directory)
}

// DeviceIO implements System.
func (thisMachine) DeviceIO(device uint64) (process.DeviceIO, error) {
	return process.CgroupDeviceIO(device)
}

// Sync implements System.
func (thisMachine) Sync(directory string) error { return syncFileSystem(directory) }

// Dialer implements System.
func (thisMachine) Dialer() func(context.Context, string) (net.Conn, error) { return nil }
