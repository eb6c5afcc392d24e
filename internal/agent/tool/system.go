package tool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/process"
)

// Processes finds programs and inspects processes. A simulation replaces it; see the System of each tool.
type Processes interface {
	// Find returns the path of a program. path lists the directories to search, in the format of PATH.
	Find(name, path string) (string, error)
	// ReadIO reads the I/O counters of a process, and Descendants lists all descendants of a process. See the functions of
	// the same names in package process.
	ReadIO(pid int) (process.IO, error)
	Descendants(pid int) ([]process.Process, error)
}

// Program is a started process, with all its descendants.
type Program interface {
	PID() int
	// Exited is closed when the process has exited and its descendants were killed.
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
	// Cut is true if the process exited with 0 but its output was not read to its end.
	Cut bool
}

// ExitOf converts the state of an exited process to an Exit. It returns nil if the state is nil.
func ExitOf(state *os.ProcessState) *Exit {
	if state == nil {
		return nil
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	return &Exit{Status: status, Busy: state.UserTime() + state.SystemTime()}
}

// Result returns the exit code, and the signal that killed the process if one did. A process that did not exit counts
// as killed by SIGKILL.
func (e *Exit) Result() (code int, signal syscall.Signal) {
	if e == nil {
		return -1, syscall.SIGKILL
	}
	if e.Status.Signaled() {
		return -1, e.Status.Signal()
	}
	return e.Status.ExitStatus(), 0
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

// ThisMachine implements Processes on the agent's own machine.
type ThisMachine struct{}

var _ Processes = ThisMachine{}

// Find implements Processes.
func (ThisMachine) Find(name, path string) (string, error) {
	for _, directory := range strings.Split(path, ":") {
		if directory == "" {
			continue
		}
		found := directory + "/" + name
		if info, err := os.Stat(found); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not in PATH (%s)", name, path)
}

// ReadIO implements Processes.
func (ThisMachine) ReadIO(pid int) (process.IO, error) { return process.ReadIO(pid) }

// Descendants implements Processes.
func (ThisMachine) Descendants(pid int) ([]process.Process, error) { return process.Descendants(pid) }

// localProcess is a process on the agent's own machine.
type localProcess struct {
	*process.Handle
	command *exec.Cmd
}

// Start starts a program as the leader of a process group. See process.Start.
func (ThisMachine) Start(command *exec.Cmd) (Program, error) {
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
	err := p.Handle.Wait()
	exit := ExitOf(p.command.ProcessState)
	if exit != nil {
		exit.Cut = errors.Is(err, exec.ErrWaitDelay)
	}
	return exit
}
