// Package command runs users' programs for the agent. A wrapper process, `agent supervise`, waits for the start signal
// and then starts the program. It adopts all processes that the program leaves running, so that the reads and writes of
// every process are counted.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// System gives the tool access to the machine: it handles processes, reads I/O counters and syncs file systems. A
// simulation replaces it.
type System interface {
	tool.Processes
	// Supervise starts `agent supervise`. It returns the process, a pipe that takes the start signal (see superviseGo),
	// and a pipe that carries the reports. The program inherits the given locks, so that the client's directory stays
	// locked while the program runs.
	Supervise(command *exec.Cmd, locks []*os.File) (shim tool.Program, start io.WriteCloser, reports io.ReadCloser, err error)
	// DeviceIO returns the I/O of the agent's control group on the block device of a file system. See
	// process.CgroupDeviceIO for its errors.
	DeviceIO(device uint64) (process.DeviceIO, error)
	// Sync makes a directory's file system write out its dirty pages.
	Sync(directory string) error
}

// Tool runs users' programs.
type Tool struct {
	env     *tool.Environment
	volumes *volumes.Set
	system  System
}

var _ tool.Tool = (*Tool)(nil)

// New returns a tool that runs users' programs on the given system.
func New(env *tool.Environment, volumes *volumes.Set, system System) *Tool {
	return &Tool{env: env, volumes: volumes, system: system}
}

// Describe implements tool.Tool. It returns nil, because only the steps name the programs to run.
func (t *Tool) Describe(context.Context) []*agentapi.Tool { return nil }

// ThisMachine implements System on the agent's own machine.
type ThisMachine struct{ tool.ThisMachine }

var _ System = ThisMachine{}

// Supervise implements System.
func (m ThisMachine) Supervise(command *exec.Cmd, locks []*os.File) (tool.Program, io.WriteCloser, io.ReadCloser, error) {
	goRead, goWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make a pipe to the command: %w", err)
	}
	reportsRead, reportsWrite, err := os.Pipe()
	if err != nil {
		_, _ = goRead.Close(), goWrite.Close()
		return nil, nil, nil, fmt.Errorf("make a pipe to the command: %w", err)
	}
	command.ExtraFiles = append([]*os.File{goRead, reportsWrite}, locks...)
	shim, err := m.Start(command)
	_, _ = goRead.Close(), reportsWrite.Close()
	if err != nil {
		_, _ = goWrite.Close(), reportsRead.Close()
		return nil, nil, nil, err
	}
	return shim, goWrite, reportsRead, nil
}

// DeviceIO implements System.
func (ThisMachine) DeviceIO(device uint64) (process.DeviceIO, error) {
	return process.CgroupDeviceIO(device)
}

// Sync implements System.
func (ThisMachine) Sync(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("flush dirty pages: %w", err)
	}
	defer func() { _ = directory.Close() }()
	if err := unix.Syncfs(int(directory.Fd())); err != nil {
		return fmt.Errorf("flush dirty pages: %w", err)
	}
	return nil
}
