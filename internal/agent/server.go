package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/version"
)

// Agent serves one client of one run.
type Agent struct {
	agentapi.UnimplementedAgentServer

	config Config
	clock  Clock
	// runner runs fio; nil means that fio is a process of this machine. system runs all other tools.
	runner   Runner
	system   System
	log      *Log
	timeouts timeouts
	looks    looks
	tool     knownTool
	mpi      knownMPI
	// path replaces PATH in the search for programs, and moreMPI are extra MPI settings; both are for tests only.
	path    string
	moreMPI [][2]string
	spare   spareFio
	laidOut knownLayout
	// whole records the files that steps have written completely.
	whole   wholeFiles
	like    knownLike
	striped knownStriping
	holds   holds
	devices devices
	// instance distinguishes this agent from other agents of the same client.
	instance string

	// mu guards the fields below. Do not wait for a tool or a file while holding it.
	mu    sync.Mutex
	epoch uint64
	// leading is canceled when a leader with a higher epoch sends a command.
	leading     context.Context // lives for a leader's term, not for one call
	depose      context.CancelCauseFunc
	steps       map[string]*step
	live        *step
	watchers    int
	lastContact int64
	finishing   bool
	// leaving is true if the agent finishes by itself instead of at its conductor's request.
	leaving bool

	finishOnce sync.Once
	finished   chan struct{}
	outcome    finishOutcome
}

// errDeposed ends the calls of a leader that a newer leader has replaced.
var errDeposed = errors.New("a newer leader has taken over this run")

// New returns an agent; its orphan timeout counts from now.
func New(config Config, clock Clock) *Agent {
	a := &Agent{
		config:      config,
		clock:       clock,
		system:      thisMachine{},
		log:         &Log{},
		instance:    rand.Text(),
		timeouts:    defaultTimeouts,
		looks:       looks{installation: config.Installation, besides: config.BenchmarkUID},
		steps:       map[string]*step{},
		lastContact: clock.Monotonic(),
		finished:    make(chan struct{}),
	}
	a.leading, a.depose = context.WithCancelCause(context.Background())
	return a
}

// TakeLateOrders makes the agent accept start orders up to this long after the start instant, for tests on busy
// machines.
func (a *Agent) TakeLateOrders(late time.Duration) { a.timeouts.late = late }

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
	a.lastContact = a.clock.Monotonic()
	return nil
}

func superseded(epoch, now uint64) error {
	return withReason(status.Newf(codes.FailedPrecondition,
		"epoch %d is over: a leader of epoch %d has taken over this run", epoch, now), agentapi.ReasonSuperseded)
}

// withReason adds a machine-readable reason to a refusal, for the conductor.
func withReason(refusal *status.Status, reason string) error {
	if detailed, err := refusal.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: agentapi.Domain}); err == nil {
		refusal = detailed
	}
	return refusal.Err()
}

// Describe implements agentapi.AgentServer.
func (a *Agent) Describe(ctx context.Context, request *agentapi.DescribeRequest) (*agentapi.DescribeResponse, error) {
	a.mu.Lock()
	err := a.admit(request.GetEpoch())
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	tools, volumes := a.describeTools(ctx), a.describeVolumes(ctx)
	// Read the steps last, together with the sequence number of the record that reports their states.
	a.mu.Lock()
	defer a.mu.Unlock()
	return &agentapi.DescribeResponse{
		RunUid:       a.config.RunUID,
		Target:       a.config.Target,
		Client:       int32(a.config.Client), //nolint:gosec // The API allows far fewer clients.
		AgentVersion: version.Version,
		Protocol:     agentapi.Protocol,
		Tools:        tools,
		Volumes:      volumes,
		Host:         describeHost(),
		LastSequence: a.log.Last(),
		Steps:        a.statuses(),
	}, nil
}

// Clock implements agentapi.AgentServer.
func (a *Agent) Clock(context.Context, *agentapi.ClockRequest) (*agentapi.ClockResponse, error) {
	return &agentapi.ClockResponse{
		MonotonicNanoseconds: a.clock.Monotonic(),
		WallNanoseconds:      a.clock.Wall(),
	}, nil
}

// Start implements agentapi.AgentServer.
func (a *Agent) Start(_ context.Context, request *agentapi.StartRequest) (*agentapi.StartResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(request.GetEpoch()); err != nil {
		return nil, err
	}
	name := stepName(request.GetStep())
	known := a.steps[name]
	if known == nil {
		return nil, status.Errorf(codes.NotFound, "step %s is not loaded", name)
	}
	if !known.isLoaded() {
		return nil, status.Errorf(codes.Unavailable, "step %s is still being loaded", name)
	}
	if request.GetDeadlineNanoseconds() <= request.GetAtNanoseconds() {
		return nil, status.Error(codes.InvalidArgument, "the deadline is not after the start")
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
	if a.live != nil && (request.GetStep() == nil || stepName(request.GetStep()) == stepName(a.live.key)) {
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
	wanted := removal{own: request.GetRemoveData(), gone: request.GetGoneBenchmarks(), clients: int(request.GetClients())}
	for _, other := range request.GetRemoveClients() {
		wanted.others = append(wanted.others, int(other))
	}
	outcome := a.finish(wanted, "the run is finishing")
	return &agentapi.FinishResponse{DataRemoved: outcome.removed, Problem: outcome.problem,
		LeftRemoved: int32(min(outcome.left.Removed, math.MaxInt32)), LeftStays: outcome.left.Stays}, nil // #nosec G115 -- Just bounded.
}

// checkRemoval refuses removal requests that can only be mistakes, because they delete data.
func (a *Agent) checkRemoval(request *agentapi.FinishRequest) error {
	if slices.Contains(request.GetGoneBenchmarks(), a.config.BenchmarkUID) {
		return status.Error(codes.InvalidArgument, "the run's own benchmark is named among those that are gone")
	}
	for _, other := range request.GetRemoveClients() {
		switch {
		case !request.GetRemoveData():
			return status.Errorf(codes.InvalidArgument, "the data of client %d is to be removed, but not this client's own", other)
		case other < 0:
			return status.Errorf(codes.InvalidArgument, "client %d is to be removed; clients count from 0", other)
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
