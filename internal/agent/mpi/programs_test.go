package mpi

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/storagebench/storagebench/internal/agent/tool"
)

// TestVersionIsAskedAgain checks that a program is asked for its version again if it did not answer in time.
func TestVersionIsAskedAgain(t *testing.T) {
	t.Parallel()
	system := &asked{hangs: true}
	programs := New(&tool.Environment{}, nil, system)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	versions := func(ctx context.Context) map[string]string {
		all := map[string]string{}
		for _, found := range programs.Describe(ctx) {
			all[found.GetName()] = found.GetVersion()
		}
		return all
	}
	if got := versions(ended); got["ior"] != "" || got["mdtest"] != "" {
		t.Errorf("versions without an answer: %v", got)
	}
	system.hangs = false
	for range 2 {
		if got := versions(t.Context()); got["ior"] != "3.3.0" || got["mdtest"] != "3.3.0" {
			t.Errorf("versions %v", got)
		}
	}
	if system.started != 6 {
		t.Errorf("3 programs were started %d times in total, want each twice", system.started)
	}
}

// asked is a system whose programs print their versions, or hang.
type asked struct {
	System
	hangs   bool
	mu      sync.Mutex
	started int
}

func (*asked) Find(name, _ string) (string, error) { return "/bin/" + name, nil }

func (a *asked) Start(command *exec.Cmd) (tool.Program, error) {
	a.mu.Lock()
	a.started++
	a.mu.Unlock()
	made := &answering{killed: make(chan struct{}), hangs: a.hangs}
	if !a.hangs {
		_, _ = fmt.Fprintln(command.Stdout, map[string]string{
			"/bin/mpirun": "mpirun (Open MPI) 4.1.4", "/bin/ior": "IOR-3.3.0", "/bin/mdtest": "mdtest-3.3.0"}[command.Path])
	}
	return made, nil
}

type answering struct {
	tool.Program
	hangs  bool
	once   sync.Once
	killed chan struct{}
}

func (a *answering) Kill() error {
	a.once.Do(func() { close(a.killed) })
	return nil
}

func (a *answering) Wait() *tool.Exit {
	if !a.hangs {
		return &tool.Exit{}
	}
	<-a.killed
	return &tool.Exit{Status: syscall.WaitStatus(syscall.SIGKILL)}
}
