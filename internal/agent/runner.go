package agent

import (
	"context"

	"google.golang.org/grpc"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// Runner runs the tools of steps somewhere else than in processes of this machine. All else about a step stays the
// agent's: when it is loaded, released and stopped, its log, and when the agent counts as an orphan.
type Runner interface {
	// Tools are the tools that there are.
	Tools() []*agentapi.Tool
	// Load gets the tool of a step ready. An error refuses the step.
	Load(request *agentapi.LoadRequest) (Load, error)
}

// Load is a tool that waits for its start.
type Load interface {
	// Run begins now, and returns when nothing of the load is left. It stops early when the context ends, with the
	// context's cause as the reason, and at the deadline, which is an instant of the agent's clock. What write is
	// given goes to the agent's log, in order.
	Run(ctx context.Context, deadline int64, write func(*agentapi.Record)) *agentapi.Ended
	// Discard ends a load that was never run.
	Discard()
}

// NewWithRunner makes an agent whose steps are run by a Runner.
func NewWithRunner(config Config, clock Clock, runner Runner) *Agent {
	a := New(config, clock)
	a.runner = runner
	return a
}

// NewServer makes the server of an agent, with its identity; the caller serves and stops it.
func (a *Agent) NewServer() (*grpc.Server, error) { return a.newServer() }

// runnerTool is a Load as the tool of a step.
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
