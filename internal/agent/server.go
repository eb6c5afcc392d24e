package agent

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/version"
)

// Agent serves one client of one run.
type Agent struct {
	agentapi.UnimplementedAgentServer

	env     *tool.Environment
	log     *Log
	volumes *volumes.Set
	tools   tools

	// mu guards the fields below. Do not wait for a tool or a file while holding it.
	mu    sync.Mutex
	epoch uint64
	// leading is a context that is canceled when a leader with a higher epoch sends a command. It is stored in the struct
	// because it lasts for a leader's whole term, not for one call.
	leading     context.Context
	depose      context.CancelCauseFunc
	steps       map[string]*step
	live        *step
	watchers    int
	lastContact int64
	finishing   bool
	// leaving is true if the agent exits on its own and not because its conductor has called Finish.
	leaving bool

	finishOnce sync.Once
	finished   chan struct{}
	outcome    volumes.Outcome
}

// errDeposed is the cancellation cause of a leader's calls after a newer leader has taken over.
var errDeposed = errors.New("a newer leader has taken over this run")

// defaultTimeouts are the timeouts that New sets; tests change them.
var defaultTimeouts = tool.DefaultTimeouts()

// New returns an agent. Its orphan timeout starts now.
func New(config Config, clock tool.Clock) *Agent {
	env := &tool.Environment{Config: config, Clock: clock, Timeouts: defaultTimeouts, Path: os.Getenv("PATH")}
	a := &Agent{
		env:         env,
		log:         &Log{},
		volumes:     volumes.New(env),
		steps:       map[string]*step{},
		lastContact: clock.Monotonic(),
		finished:    make(chan struct{}),
	}
	a.tools = a.newTools()
	a.leading, a.depose = context.WithCancelCause(context.Background())
	return a
}

// TakeLateOrders makes the agent accept a start order that arrives up to the given time after the start instant, for
// tests on busy machines.
func (a *Agent) TakeLateOrders(late time.Duration) { a.env.Timeouts.Late = late }

// Register adds the agent to a gRPC server.
func (a *Agent) Register(server grpc.ServiceRegistrar) { agentapi.RegisterAgentServer(server, a) }

// Finished returns a channel that is closed when the agent is done and may exit.
func (a *Agent) Finished() <-chan struct{} { return a.finished }

// admit accepts a command unless a newer leader has sent one. Callers hold mu.
func (a *Agent) admit(epoch uint64) error {
	if epoch < a.epoch {
		return superseded(epoch, a.epoch)
	}
	if epoch > a.epoch {
		a.depose(errDeposed)
		a.leading, a.depose = context.WithCancelCause(context.Background())
	}
	a.epoch = epoch
	a.lastContact = a.env.Clock.Monotonic()
	return nil
}

func superseded(epoch, now uint64) error {
	return tool.WithReason(status.Newf(codes.FailedPrecondition,
		"epoch %d has ended: a leader of epoch %d has taken over this run", epoch, now), agentapi.ReasonSuperseded)
}

// Describe implements agentapi.AgentServer.
func (a *Agent) Describe(ctx context.Context, request *agentapi.DescribeRequest) (*agentapi.DescribeResponse, error) {
	a.mu.Lock()
	err := a.admit(request.GetEpoch())
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	programs, described := a.tools.describe(ctx), a.volumes.Describe(ctx)
	// Read the states of the steps last, and under the same lock as the log's last sequence number, so that they match
	// the log up to that number.
	a.mu.Lock()
	defer a.mu.Unlock()
	return &agentapi.DescribeResponse{
		RunUid:       a.env.Config.RunUID,
		Target:       a.env.Config.Target,
		Client:       int32(a.env.Config.Client), //nolint:gosec // The API allows far fewer clients.
		AgentVersion: version.Version,
		Protocol:     agentapi.Protocol,
		Tools:        programs,
		Volumes:      described,
		Host:         describeHost(),
		LastSequence: a.log.Last(),
		Steps:        a.statuses(),
	}, nil
}

// Clock implements agentapi.AgentServer.
func (a *Agent) Clock(context.Context, *agentapi.ClockRequest) (*agentapi.ClockResponse, error) {
	return &agentapi.ClockResponse{
		MonotonicNanoseconds: a.env.Clock.Monotonic(),
		WallNanoseconds:      a.env.Clock.Wall(),
	}, nil
}

// Start implements agentapi.AgentServer.
func (a *Agent) Start(_ context.Context, request *agentapi.StartRequest) (*agentapi.StartResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(request.GetEpoch()); err != nil {
		return nil, err
	}
	name := tool.StepName(request.GetStep())
	known := a.steps[name]
	if known == nil {
		return nil, status.Errorf(codes.NotFound, "step %s is not loaded", name)
	}
	if !known.isLoaded() {
		return nil, status.Errorf(codes.Unavailable, "step %s is still being loaded", name)
	}
	if request.GetDeadlineNanoseconds() <= request.GetAtNanoseconds() {
		return nil, status.Error(codes.InvalidArgument, "the deadline must be after the start")
	}
	known.start(order{at: request.GetAtNanoseconds(), deadline: request.GetDeadlineNanoseconds()})
	return &agentapi.StartResponse{Status: known.status()}, nil
}

// Stop implements agentapi.AgentServer. It does not wait for the tool; Watch reports the end.
func (a *Agent) Stop(_ context.Context, request *agentapi.StopRequest) (*agentapi.StopResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(request.GetEpoch()); err != nil {
		return nil, err
	}
	if a.live != nil && (request.GetStep() == nil || tool.StepName(request.GetStep()) == tool.StepName(a.live.key)) {
		a.live.stop(request.GetReason())
	}
	return &agentapi.StopResponse{Steps: a.statuses()}, nil
}

// Finish implements agentapi.AgentServer.
func (a *Agent) Finish(_ context.Context, request *agentapi.FinishRequest) (*agentapi.FinishResponse, error) {
	a.mu.Lock()
	err := a.admit(request.GetEpoch())
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := a.checkRemoval(request); err != nil {
		return nil, err
	}
	wanted := volumes.Removal{Own: request.GetRemoveData(), Gone: request.GetGoneBenchmarks(),
		Clients: int(request.GetClients())}
	for _, other := range request.GetRemoveClients() {
		wanted.Others = append(wanted.Others, int(other))
	}
	outcome := a.finish(wanted, "the run is finishing")
	return &agentapi.FinishResponse{DataRemoved: outcome.Removed, Problem: outcome.Problem,
		LeftRemoved: int32(min(outcome.Left.Removed, math.MaxInt32)), LeftStays: outcome.Left.Stays}, nil // #nosec G115 -- bounded by min
}

// checkRemoval returns an error if the request to remove data is clearly a mistake. Removal is irreversible.
func (a *Agent) checkRemoval(request *agentapi.FinishRequest) error {
	if slices.Contains(request.GetGoneBenchmarks(), a.env.Config.BenchmarkUID) {
		return status.Error(codes.InvalidArgument, "goneBenchmarks contains the run's own benchmark")
	}
	for _, other := range request.GetRemoveClients() {
		switch {
		case !request.GetRemoveData():
			return status.Errorf(codes.InvalidArgument, "removeClients contains client %d, but removeData is false", other)
		case other < 0:
			return status.Errorf(codes.InvalidArgument, "removeClients contains client %d; clients are numbered from 0", other)
		}
	}
	return nil
}

// statuses returns the states of the steps, except those still being loaded. Callers hold mu.
func (a *Agent) statuses() []*agentapi.StepStatus {
	var all []*agentapi.StepStatus
	for _, s := range a.steps {
		if s.isLoaded() {
			all = append(all, s.status())
		}
	}
	return all
}
