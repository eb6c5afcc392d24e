package agent

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/version"
)

// Protocol counts incompatible changes of the service.
const Protocol = 1

// Agent serves one client of one run.
type Agent struct {
	agentapi.UnimplementedAgentServer

	config Config
	clock  Clock
	log    *Log

	// mu guards what follows. No tool is waited for while it is held.
	mu          sync.Mutex
	epoch       uint64
	steps       map[string]*step
	live        *step
	lastContact int64
	finishing   bool

	finishOnce sync.Once
	finished   chan struct{}
	outcome    finishOutcome
}

// finishOutcome is what became of the data.
type finishOutcome struct {
	removed bool
	problem string
}

// New makes an agent that has not been reached yet.
func New(config Config, clock Clock) *Agent {
	return &Agent{
		config:      config,
		clock:       clock,
		log:         &Log{},
		steps:       map[string]*step{},
		lastContact: clock.Monotonic(),
		finished:    make(chan struct{}),
	}
}

// Register adds the agent to a gRPC server.
func (a *Agent) Register(server grpc.ServiceRegistrar) { agentapi.RegisterAgentServer(server, a) }

// Finished is closed when the agent has nothing left to do and may exit.
func (a *Agent) Finished() <-chan struct{} { return a.finished }

// admit lets a command through unless a newer leader has spoken. Callers hold mu.
func (a *Agent) admit(epoch uint64) error {
	if epoch < a.epoch {
		return status.Errorf(codes.FailedPrecondition,
			"epoch %d is over: a leader of epoch %d has taken over this run", epoch, a.epoch)
	}
	a.epoch = epoch
	a.lastContact = a.clock.Monotonic()
	return nil
}

// Describe implements agentapi.AgentServer.
func (a *Agent) Describe(ctx context.Context, request *agentapi.DescribeRequest) (*agentapi.DescribeResponse, error) {
	a.mu.Lock()
	err := a.admit(request.GetEpoch())
	steps := a.statuses()
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &agentapi.DescribeResponse{
		RunUid:       a.config.RunUID,
		Target:       a.config.Target,
		Client:       int32(a.config.Client), //nolint:gosec // The API allows far fewer clients.
		AgentVersion: version.Version,
		Protocol:     Protocol,
		Tools:        []*agentapi.Tool{a.describeFio(ctx)},
		Volumes:      a.describeVolumes(),
		Host:         describeHost(),
		LastSequence: a.log.Last(),
		Steps:        steps,
	}, nil
}

// Clock implements agentapi.AgentServer.
func (a *Agent) Clock(context.Context, *agentapi.ClockRequest) (*agentapi.ClockResponse, error) {
	return &agentapi.ClockResponse{
		MonotonicNanoseconds: a.clock.Monotonic(),
		WallNanoseconds:      a.clock.Wall(),
	}, nil
}

// Load implements agentapi.AgentServer. It returns when the tool is spawned and waits, or with the
// reason why the step cannot run; then nothing was written but the run's own directory.
func (a *Agent) Load(ctx context.Context, request *agentapi.LoadRequest) (*agentapi.LoadResponse, error) {
	loading, err := a.claim(request)
	if err != nil {
		return nil, err
	}
	if loading == nil {
		return &agentapi.LoadResponse{Status: a.status(request.GetStep())}, nil
	}
	if err := loading.load(ctx); err != nil {
		a.mu.Lock()
		delete(a.steps, stepName(request.GetStep()))
		a.live = nil
		a.mu.Unlock()
		return nil, err
	}
	go func() {
		loading.run()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.live = nil
		a.lastContact = a.clock.Monotonic()
	}()
	return &agentapi.LoadResponse{Status: loading.status()}, nil
}

// claim makes room for a step. It returns no step when this very attempt is known already.
func (a *Agent) claim(request *agentapi.LoadRequest) (*step, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(request.GetEpoch()); err != nil {
		return nil, err
	}
	if request.GetStep().GetId() == "" || request.GetFio() == nil {
		return nil, status.Error(codes.InvalidArgument, "the step has no ID or no tool")
	}
	if a.finishing {
		return nil, status.Error(codes.FailedPrecondition, "the agent is finishing")
	}
	name := stepName(request.GetStep())
	if known := a.steps[name]; known != nil {
		if !known.same(request) {
			return nil, status.Errorf(codes.InvalidArgument, "step %s was loaded with another content", name)
		}
		return nil, nil
	}
	if a.live != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "step %s is still live", stepName(a.live.key))
	}
	loading := newStep(a, request)
	a.steps[name] = loading
	a.live = loading
	return loading, nil
}

// Start implements agentapi.AgentServer.
func (a *Agent) Start(_ context.Context, request *agentapi.StartRequest) (*agentapi.StartResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(request.GetEpoch()); err != nil {
		return nil, err
	}
	known := a.steps[stepName(request.GetStep())]
	if known == nil {
		return nil, status.Errorf(codes.NotFound, "step %s is not loaded", stepName(request.GetStep()))
	}
	if request.GetDeadlineNanoseconds() <= request.GetAtNanoseconds() {
		return nil, status.Error(codes.InvalidArgument, "the deadline is not after the start")
	}
	known.start(order{at: request.GetAtNanoseconds(), deadline: request.GetDeadlineNanoseconds()})
	return &agentapi.StartResponse{Status: known.status()}, nil
}

// Stop implements agentapi.AgentServer. It does not wait for the tool; Watch tells of the end.
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

// Watch implements agentapi.AgentServer.
func (a *Agent) Watch(request *agentapi.WatchRequest, stream grpc.ServerStreamingServer[agentapi.Record]) error {
	a.mu.Lock()
	err := a.admit(request.GetEpoch())
	a.mu.Unlock()
	if err != nil {
		return err
	}
	for since := request.GetSince(); ; {
		if err := a.log.Wait(stream.Context(), since); err != nil {
			return status.FromContextError(err).Err()
		}
		records, err := a.log.Since(since)
		if err != nil {
			return status.Error(codes.DataLoss, err.Error())
		}
		for _, record := range records {
			if err := stream.Send(record); err != nil {
				return err
			}
			since = record.GetSequence()
		}
		a.mu.Lock()
		a.lastContact = a.clock.Monotonic()
		superseded := request.GetEpoch() < a.epoch
		a.mu.Unlock()
		if superseded {
			return status.Error(codes.FailedPrecondition, "a newer leader has taken over this run")
		}
	}
}

// Finish implements agentapi.AgentServer.
func (a *Agent) Finish(_ context.Context, request *agentapi.FinishRequest) (*agentapi.FinishResponse, error) {
	a.mu.Lock()
	err := a.admit(request.GetEpoch())
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	outcome := a.finish(request.GetRemoveData(), "the run is finishing")
	return &agentapi.FinishResponse{DataRemoved: outcome.removed, Problem: outcome.problem}, nil
}

// status and statuses say how far steps are. Callers of statuses hold mu.
func (a *Agent) status(key *agentapi.StepKey) *agentapi.StepStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.steps[stepName(key)].status()
}

func (a *Agent) statuses() []*agentapi.StepStatus {
	var all []*agentapi.StepStatus
	for _, s := range a.steps {
		all = append(all, s.status())
	}
	return all
}
