package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// Machine is a model of a client's kernel: the processes of MPI jobs and of commands, with the I/O that the kernel
// accounts to them. Its PIDs are higher than any PID of Linux.
type Machine struct {
	house   *House
	key     decide.ClientKey
	address string
	store   *Store

	mu        sync.Mutex
	dead      bool
	processes []*Process
	// device is the I/O on the store of all completed loads.
	device process.DeviceIO
}

var _ agent.System = (*Machine)(nil)

// firstPID is higher than the highest PID of Linux.
const firstPID = 1 << 23

// started is the I/O that the kernel counts for a program before its actual work, such as loading its libraries.
var started = process.IO{ReadBytes: 107 << 10, WriteBytes: 4 << 10, ReadCalls: 350, WriteCalls: 90}

// Process is a process of a Machine. The machine's mu guards it.
type Process struct {
	machine *Machine
	pid     int
	name    string
	parent  *Process
	// directory is the directory in which the process has files open, or "" if it has none.
	directory string
	// counted is the process's I/O before its current flow, including the I/O of all children that have ended.
	counted process.IO
	flow    *flow
	exit    *tool.Exit
	waited  bool
	// term is closed by SIGTERM, and exited is closed when the process ends.
	term, exited chan struct{}
	terminate    func()
}

var _ tool.Program = (*Process)(nil)

// add adds a process. parent is nil if the agent starts the process.
func (m *Machine) add(name string, parent *Process) (*Process, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, errors.New("the machine is dead")
	}
	p := &Process{machine: m, pid: firstPID + len(m.processes), name: name, parent: parent, counted: started,
		term: make(chan struct{}), exited: make(chan struct{})}
	p.terminate = sync.OnceFunc(func() { close(p.term) })
	m.processes = append(m.processes, p)
	return p, nil
}

// die kills all processes at once.
func (m *Machine) die() {
	m.mu.Lock()
	m.dead = true
	all := slices.Clone(m.processes)
	m.mu.Unlock()
	for _, p := range all {
		_ = p.Kill()
	}
}

// begin starts a load of the process on the store.
func (p *Process) begin(d demand) *flow {
	f := p.machine.store.begin(d)
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	if p.exit != nil {
		f.stop()
	}
	p.flow = f
	return f
}

// settle adds the I/O of the process's flow to its counters and ends the flow. The caller must hold mu.
func (p *Process) settle() {
	if p.flow == nil {
		return
	}
	p.counted = p.counted.Add(p.flow.counters())
	done := p.flow.counters()
	p.machine.device.ReadBytes += done.ReadBytes
	p.machine.device.WriteBytes += done.WriteBytes
	p.machine.device.ReadOperations += done.ReadCalls
	p.machine.device.WriteOperations += done.WriteCalls
	p.flow = nil
}

// counters returns the I/O that the kernel accounts to the process for a flow.
func (f *flow) counters() process.IO {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.advance()
	read, written := f.moved[measure.Read], f.moved[measure.Write]
	return process.IO{ReadBytes: read.Bytes, ReadCalls: read.Operations, StorageReadBytes: read.Bytes,
		WriteBytes: written.Bytes, WriteCalls: written.Operations, StorageWriteBytes: written.Bytes}
}

// end ends the process, if it has not ended yet. Its I/O is added to that of its parent, which waits for it.
func (p *Process) end(status syscall.WaitStatus) {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	if p.exit != nil {
		return
	}
	if p.flow != nil {
		p.flow.stop()
	}
	p.settle()
	p.exit = &tool.Exit{Status: status, Busy: 10 * time.Millisecond}
	if p.parent != nil {
		p.parent.counted = p.parent.counted.Add(p.counted)
		p.waited = true
	}
	close(p.exited)
}

// exited returns the wait status for an exit code.
func exited(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }

// PID implements tool.Program.
func (p *Process) PID() int { return p.pid }

// Exited implements tool.Program.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Terminate implements tool.Program.
func (p *Process) Terminate(group bool) error {
	p.terminate()
	if group {
		for _, below := range p.machine.below(p) {
			below.terminate()
		}
	}
	return nil
}

// Kill implements tool.Program.
func (p *Process) Kill() error {
	for _, below := range p.machine.below(p) {
		below.end(syscall.WaitStatus(syscall.SIGKILL))
	}
	p.end(syscall.WaitStatus(syscall.SIGKILL))
	return nil
}

// Wait implements tool.Program.
func (p *Process) Wait() *tool.Exit {
	<-p.exited
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	p.waited = true
	return p.exit
}

// below returns the children of a process that have not been waited for. No model starts grandchildren.
func (m *Machine) below(p *Process) (found []*Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.processes {
		if one.parent == p && !one.waited {
			found = append(found, one)
		}
	}
	return found
}

func (m *Machine) alive() (count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.processes {
		if p.exit == nil {
			count++
		}
	}
	return count
}

// process returns a process that has not been waited for. The caller must hold mu.
func (m *Machine) process(pid int) (*Process, error) {
	if at := pid - firstPID; at >= 0 && at < len(m.processes) && !m.processes[at].waited {
		return m.processes[at], nil
	}
	return nil, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
}

// ReadIO implements agent.System.
func (m *Machine) ReadIO(pid int) (process.IO, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.process(pid)
	switch {
	case err != nil:
		return process.IO{}, err
	case p.flow != nil:
		return p.counted.Add(p.flow.counters()), nil
	}
	return p.counted, nil
}

// Descendants implements agent.System.
func (m *Machine) Descendants(pid int) ([]process.Process, error) {
	m.mu.Lock()
	root, err := m.process(pid)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var all []process.Process
	for _, p := range m.below(root) {
		all = append(all, process.Process{PID: p.pid, PPID: pid, Command: p.name, State: 'S'})
	}
	return all, nil
}

// HasOpenBelow implements agent.System.
func (m *Machine) HasOpenBelow(pid int, directory string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.process(pid)
	return err == nil && p.directory == directory
}

// DeviceIO implements agent.System. It returns all I/O of the machine on its store.
func (m *Machine) DeviceIO(uint64) (process.DeviceIO, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.device
	for _, p := range m.processes {
		if p.flow != nil {
			done := p.flow.counters()
			sum.ReadBytes += done.ReadBytes
			sum.WriteBytes += done.WriteBytes
			sum.ReadOperations += done.ReadCalls
			sum.WriteOperations += done.WriteCalls
		}
	}
	return sum, nil
}

// Sync implements agent.System. It does nothing, because data is on the store as soon as a write returns.
func (m *Machine) Sync(string) error { return nil }

// Find implements agent.System.
func (m *Machine) Find(name, _ string) (string, error) {
	if !slices.Contains([]string{"mpirun", "orted", "ior", "mdtest", commandName}, name) {
		return "", fmt.Errorf("%s is not in PATH", name)
	}
	return filepath.Join("/simulated", name), nil
}

// Start implements agent.System.
func (m *Machine) Start(command *exec.Cmd) (tool.Program, error) {
	name := filepath.Base(command.Path)
	p, err := m.add(name, nil)
	if err != nil {
		return nil, err
	}
	run := m.daemon
	switch {
	case slices.Contains(command.Args, "--version"), name == "ior", name == "mdtest":
		run = printVersion
	case name == "mpirun":
		run = m.mpirun
	}
	m.house.all.Go(func() { p.end(exited(run(p, command))) })
	return p, nil
}

// printVersion simulates a program that is started outside of a job to print its version.
func printVersion(_ *Process, command *exec.Cmd) int {
	text := map[string]string{"mpirun": "mpirun (Open MPI) 4.1.4", "ior": "IOR-4.0.0", "mdtest": "mdtest-4.0.0"}
	_, _ = fmt.Fprintln(command.Stdout, text[filepath.Base(command.Path)])
	return 0
}

// Supervise implements agent.System.
func (m *Machine) Supervise(command *exec.Cmd, _ []*os.File) (tool.Program, io.WriteCloser, io.ReadCloser, error) {
	p, err := m.add("agent", nil)
	if err != nil {
		return nil, nil, nil, err
	}
	goRead, goWrite := io.Pipe()
	newsRead, newsWrite := io.Pipe()
	m.house.all.Go(func() {
		status := exited(0)
		if count, _ := goRead.Read(make([]byte, 1)); count == 1 {
			status = m.supervise(p, command, newsWrite)
		}
		p.end(status)
		_, _ = goRead.Close(), newsWrite.Close()
	})
	return p, goWrite, newsRead, nil
}

// dial connects to the agent of another machine.
func (m *Machine) dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	dead := m.dead
	m.mu.Unlock()
	to := m.house.at(address)
	if dead || to == nil {
		return nil, fmt.Errorf("no way from %s to %s", m.key, address)
	}
	return to.connect(ctx, m)
}
