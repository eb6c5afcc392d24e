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

// System is the part of a machine that MPI jobs and users' programs need: it starts processes, reads their I/O
// counters, and reaches the agents of other clients. An agent uses its own machine unless a simulation replaces it.
type System interface {
	// Find returns the path of a program, searched in a list of folders as in PATH.
	Find(name, path string) (string, error)
	// Start starts a program like process.Start.
	Start(command *exec.Cmd) (Program, error)
	// Tend starts `agent tend`: the first byte written to start makes it start the user's program, and it reports
	// to news. The program inherits hold unless that is nil.
	Tend(command *exec.Cmd, hold *os.File) (tended Program, start io.WriteCloser, news io.ReadCloser, err error)
	// ReadIO, Descendants, State, HasOpenBelow and DeviceIO work like the functions of package process.
	ReadIO(pid int) (process.IO, error)
	Descendants(pid int) ([]process.Process, error)
	State(pid int) (process.Process, error)
	HasOpenBelow(pid int, directory string) bool
	DeviceIO(device uint64) (process.DeviceIO, error)
	// Sync makes a directory's file system write out its dirty pages.
	Sync(directory string) error
	// Dialer returns the function that connects to other agents; nil for gRPC's default.
	Dialer() func(ctx context.Context, address string) (net.Conn, error)
}

// Program is a process started by a System, with all its descendants.
type Program interface {
	PID() int
	// Exited is closed when the process and all its descendants have exited.
	Exited() <-chan struct{}
	// Terminate sends SIGTERM to the process, or to its whole group.
	Terminate(group bool) error
	// Kill kills the process and all its descendants; its error names the survivors.
	Kill() error
	// Wait waits for the process to exit and for the end of its output. It may be called several times.
	Wait() *Exit
}

// Exit describes how a process exited.
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

// String formats the exit like os.ProcessState.
func (e *Exit) String() string {
	switch {
	case e == nil:
		return "not ended"
	case e.Status.Signaled():
		return "signal: " + e.Status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", e.Status.ExitStatus())
}

// thisMachine is the real System: it acts on the agent's own machine.
type thisMachine struct{}

var _ System = thisMachine{}

// localProcess is a process on the agent's own machine.
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
