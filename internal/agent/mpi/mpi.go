// Package mpi runs IOR and mdtest for the agent, as jobs of Open MPI over all clients of a target. Client 0's agent
// runs mpirun, and the other agents start MPI's daemons for it; see docs/design/0006-mpi.md.
//
//	client 0: launcher               other clients: member
//	   mpirun
//	     `-- agent launch HOST ---------> Launch: checks the caller and the daemon's command line
//	                                       `-- orted or prted
//	                                             `-- agent rank -- ior ...
//	   tellEnd ---------------------------> Release: the job has ended
//
// The tests in mpi_test.go of package agent run real jobs, and list what this package assumes about Open MPI.
package mpi

import (
	"context"
	"net"
	"os/exec"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// LauncherClient is the client that starts MPI jobs.
const LauncherClient = 0

// System gives the tool access to the machine's processes and their open files. A simulation replaces it.
type System interface {
	tool.Processes
	// Start starts a program as the leader of a process group. See process.Start.
	Start(command *exec.Cmd) (tool.Program, error)
	// HasOpenBelow reports whether a process has a file open in a directory or below it.
	HasOpenBelow(pid int, directory string) bool
}

// Dial connects to another agent.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// Tool runs Open MPI jobs.
type Tool struct {
	// Dial, if not nil, replaces gRPC's dialer for connections to other agents.
	Dial Dial
	// Settings are additional MPI parameters, by name and value. Only tests set them.
	Settings [][2]string

	env     *tool.Environment
	volumes *volumes.Set
	system  System
	known   knownPrograms
}

var _ tool.Tool = (*Tool)(nil)

// New returns a tool that runs MPI jobs on the given system.
func New(env *tool.Environment, volumes *volumes.Set, system System) *Tool {
	return &Tool{env: env, volumes: volumes, system: system}
}

// find returns the path of a program.
func (t *Tool) find(name string) (string, error) { return t.system.Find(name, t.env.Path) }

// Launch starts the daemon of a job on this client, for client 0. The function `live` returns the load of the current
// step, or an error if the request names another step.
func (t *Tool) Launch(request *agentapi.LaunchRequest, stream grpc.ServerStreamingServer[agentapi.LaunchOutput],
	live func() (tool.Load, error)) error {
	if err := checkDaemon(request.GetCommand()); err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	load, err := live()
	if err != nil {
		return err
	}
	launched, ok := load.(*member)
	if !ok {
		return status.Errorf(codes.FailedPrecondition, "step %s is not part of an MPI job that client 0 starts",
			tool.StepName(request.GetStep()))
	}
	if err := launched.checkLaunch(stream.Context(), request.GetCommand()); err != nil {
		return err
	}
	return launched.launch(stream.Context(), request.GetCommand(), stream.Send)
}

// Release notifies a load that its job has ended. It does not wait for the end of the step.
func (t *Tool) Release(ctx context.Context, load tool.Load) error {
	released, ok := load.(*member)
	if !ok {
		return nil // Client 0's load, and a load without MPI, have nothing to release.
	}
	if err := released.checkCaller(ctx); err != nil {
		return err
	}
	released.release()
	return nil
}

// ThisMachine implements System on the agent's own machine.
type ThisMachine struct{ tool.ThisMachine }

var _ System = ThisMachine{}

// HasOpenBelow implements System.
func (ThisMachine) HasOpenBelow(pid int, directory string) bool {
	return process.HasOpenBelow(pid, directory)
}
