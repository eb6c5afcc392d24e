package agent

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// Load implements agentapi.AgentServer. It returns when the tool has been spawned and waits for its start, or with an
// error that says why the step cannot run. A step that cannot run has written nothing outside the run's own directory.
// If the caller disconnects, loading continues, and a repeated call waits until the step is loaded. After a refusal, a
// repeated call loads the step again.
func (a *Agent) Load(ctx context.Context, request *agentapi.LoadRequest) (*agentapi.LoadResponse, error) {
	known, err := a.claim(request)
	if err != nil {
		return nil, err
	}
	select {
	case <-known.loaded:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if known.refusal != nil {
		return nil, known.refusal
	}
	return &agentapi.LoadResponse{Status: known.status()}, nil
}

// claim returns the requested step if an earlier request has already begun to load it. Otherwise it makes the step the
// agent's current step and starts loading it.
func (a *Agent) claim(request *agentapi.LoadRequest) (*step, error) {
	loads, err := contentOf(request)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(request.GetEpoch()); err != nil {
		return nil, err
	}
	if request.GetStep().GetId() == "" || a.tools.of(request) == nil {
		return nil, status.Error(codes.InvalidArgument, "the step lacks an ID or a tool")
	}
	if a.finishing {
		// Return the code Unavailable, which does not count as a refusal of the step. If the caller retries, it finds
		// that the agent has exited.
		return nil, status.Error(codes.Unavailable, "the agent is finishing")
	}
	name := tool.StepName(request.GetStep())
	if known := a.steps[name]; known != nil {
		// A newer leader may run another version of the operator, whose request for the same step may differ. Keep the step
		// as it was loaded.
		if known.content != loads && known.epoch == request.GetEpoch() {
			return nil, status.Errorf(codes.InvalidArgument, "step %s is already loaded with different content", name)
		}
		known.content, known.epoch = loads, request.GetEpoch()
		return known, nil
	}
	if a.live != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "step %s is still live", tool.StepName(a.live.key))
	}
	claimed := newStep(a, request.GetStep(), loads)
	claimed.epoch = request.GetEpoch()
	a.steps[name] = claimed
	a.live = claimed
	go a.carry(claimed, request)
	return claimed, nil
}

// carry runs a step from loading to its end.
func (a *Agent) carry(s *step, request *agentapi.LoadRequest) {
	defer close(s.ended)
	if refusal := s.prepare(request); refusal != nil {
		a.mu.Lock()
		delete(a.steps, tool.StepName(s.key))
		a.live = nil
		a.mu.Unlock()
		s.refusal = refusal
		close(s.loaded)
		return
	}
	close(s.loaded)
	result := s.carryOut()
	// A conductor that reads the end record may load the next step at once. Hold the lock until the record is written and
	// the step counts as ended, so that the next step is not refused.
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leaving && result.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		// The load ended because the agent is exiting, so give that as the reason, whatever the tool reports.
		result.Outcome, result.Reason = agentapi.Outcome_OUTCOME_STOPPED, agentapi.ReasonLeaving
	}
	s.write(&agentapi.Record{Entry: &agentapi.Record_Ended{Ended: result}})
	s.setState(agentapi.StepState_STEP_STATE_ENDED)
	s.load, a.live = nil, nil
	a.lastContact = a.env.Clock.Monotonic()
}
