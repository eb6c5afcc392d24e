package agent

import (
	"context"

	"google.golang.org/grpc"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// Runner runs fio elsewhere than in a process of this machine. The agent itself still controls everything else
// about a step: when it is loaded, released and stopped, its log, and when the agent counts as orphaned.
type Runner interface {
	// Tools returns the available tools, including those of MPI.
	Tools() []*agentapi.Tool
	// Load prepares fio for a step. An error refuses the step.
	Load(request *agentapi.LoadRequest) (Load, error)
}

// Load is a prepared tool that waits for its start.
type Load interface {
	// Run starts the load now, and returns when the load has ended completely. It stops early when the context
	// ends, with the context's cause as the reason, and at the deadline, an instant on the agent's clock. Records
	// passed to write go to the agent's log, in order.
	Run(ctx context.Context, deadline int64, write func(*agentapi.Record)) *agentapi.Ended
	// Discard ends a load that was never run.
	Discard()
}

// NewSimulated returns an agent that runs fio by a Runner, and the other tools as processes of a System.
func NewSimulated(config Config, clock Clock, runner Runner, system System) *Agent {
	a := New(config, clock)
	a.runner, a.system = runner, system
	return a
}

// NewServer returns the server of an agent, with its identity; the caller serves and stops it.
func (a *Agent) NewServer() (*grpc.Server, error) { return a.newServer() }

// runnerTool implements tool by a Load.
type runnerTool struct {
	step *step
	load Load
}

var _ tool = runnerTool{}

func (t runnerTool) exitedEarly() <-chan struct{} { return nil }

func (t runnerTool) concludeEarly() *agentapi.Ended { return nil }

func (t runnerTool) discard() { t.load.Discard() }

func (t runnerTool) release(given order) *agentapi.Ended {
	return t.load.Run(t.step.stopped, given.deadline, t.step.write)
}
