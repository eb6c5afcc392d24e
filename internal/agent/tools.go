package agent

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/command"
	"github.com/storagebench/storagebench/internal/agent/fio"
	"github.com/storagebench/storagebench/internal/agent/mpi"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/filegen"
)

// tools holds the tools that an agent can run. No other file lists them.
type tools struct {
	fio     tool.Tool
	mpi     *mpi.Tool
	command *command.Tool
}

// System gives the tools access to the machine. A simulation replaces it.
type System interface {
	mpi.System
	command.System
}

// newTools returns the tools of this machine.
func (a *Agent) newTools() tools {
	return tools{
		fio:     fio.New(a.env, a.volumes),
		mpi:     mpi.New(a.env, a.volumes, mpi.ThisMachine{}),
		command: command.New(a.env, a.volumes, command.ThisMachine{}),
	}
}

// NewSimulated returns an agent for simulations. It uses the given tool in place of fio, runs the processes of the
// other tools on system, and connects to other agents with dial.
func NewSimulated(config Config, clock tool.Clock, fio tool.Tool, system System, dial mpi.Dial) *Agent {
	a := New(config, clock)
	a.tools = tools{fio: fio, mpi: mpi.New(a.env, a.volumes, system), command: command.New(a.env, a.volumes, system)}
	a.tools.mpi.Dial = dial
	return a
}

func (t tools) all() []tool.Tool { return []tool.Tool{t.fio, t.mpi, t.command} }

// of returns the tool that a request needs, or nil if the request names no tool.
func (t tools) of(request *agentapi.LoadRequest) tool.Tool {
	switch request.GetTool().(type) {
	case *agentapi.LoadRequest_Fio:
		return t.fio
	case *agentapi.LoadRequest_Mpi:
		return t.mpi
	case *agentapi.LoadRequest_Command:
		return t.command
	}
	return nil
}

// describe describes the programs of all tools concurrently.
func (t tools) describe(ctx context.Context) []*agentapi.Tool {
	all := t.all()
	found := make([][]*agentapi.Tool, len(all))
	var described sync.WaitGroup
	for i, one := range all {
		described.Go(func() { found[i] = one.Describe(ctx) })
	}
	described.Wait()
	return slices.Concat(found...)
}

// close closes the tools that keep processes running between steps.
func (t tools) close() {
	for _, one := range t.all() {
		if closer, ok := one.(io.Closer); ok {
			_ = closer.Close() // Ignore the error: when the agent exits, the remaining processes are killed.
		}
	}
}

// Launch implements agentapi.AgentServer.
func (a *Agent) Launch(request *agentapi.LaunchRequest, stream grpc.ServerStreamingServer[agentapi.LaunchOutput]) error {
	return a.tools.mpi.Launch(request, stream, func() (tool.Load, error) { return a.liveLoad(request.GetStep()) })
}

// Release implements agentapi.AgentServer. It does not wait for the end of the step; Watch reports that.
func (a *Agent) Release(ctx context.Context, request *agentapi.ReleaseRequest) (*agentapi.ReleaseResponse, error) {
	// Ignore a request for any step other than the current one: that step has ended or was never loaded.
	if load, err := a.liveLoad(request.GetStep()); err == nil {
		if err := a.tools.mpi.Release(ctx, load); err != nil {
			return nil, err
		}
	}
	return &agentapi.ReleaseResponse{}, nil
}

// liveLoad returns the load of the current step, if the key names that step.
func (a *Agent) liveLoad(key *agentapi.StepKey) (tool.Load, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.live == nil || tool.StepName(a.live.key) != tool.StepName(key) || !a.live.isLoaded() {
		return nil, status.Errorf(codes.FailedPrecondition, "step %s is not loaded on this client", tool.StepName(key))
	}
	return a.live.load, nil
}

// Subcommand runs the subcommand that the arguments name. called is false if there is no such subcommand. mpirun runs
// `agent launch` in place of ssh, to start its daemon on another client. Each MPI rank starts as `agent rank`. The
// agent runs `agent supervise` to start a user's program, and that program may run `agent files` to generate its data.
func Subcommand(arguments []string, stdout, stderr io.Writer) (code int, called bool) {
	if len(arguments) == 0 {
		return 0, false
	}
	switch arguments[0] {
	case "rank":
		_, _ = fmt.Fprintf(stderr, "error: %s\n", tool.OneLine(mpi.Rank(arguments[1:]))) // Rank returns only on failure.
		return 1, true
	case "launch":
		return mpi.LaunchCommand(arguments[1:], stdout, stderr), true
	case "supervise":
		return command.Supervise(arguments[1:]), true
	case "files":
		return filegen.Command(arguments[1:], stdout, stderr), true
	}
	return 0, false
}
