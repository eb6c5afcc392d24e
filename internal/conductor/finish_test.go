package conductor_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
)

// finisher is an agent that records Finish requests.
type finisher struct {
	fake
	requested chan *agentapi.FinishRequest
}

func (f *finisher) Finish(_ context.Context, request *agentapi.FinishRequest) (*agentapi.FinishResponse, error) {
	f.requested <- request
	return &agentapi.FinishResponse{DataRemoved: request.GetRemoveData()}, nil
}

// TestFinishNamesLostClients checks that a client is asked to remove the data of lost clients only if data is to be
// removed.
func TestFinishNamesLostClients(t *testing.T) {
	t.Parallel()
	lost := []int{3, 7}
	for name, test := range map[string]struct {
		options conductor.FinishOptions
		want    []int32
	}{
		"removed": {conductor.FinishOptions{RemoveData: true, AlsoRemove: lost}, []int32{3, 7}},
		"kept":    {conductor.FinishOptions{AlsoRemove: lost}, nil},
		"no lost": {conductor.FinishOptions{RemoveData: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &finisher{fake: fake{describe: good()}, requested: make(chan *agentapi.FinishRequest, 1)}
			c := conduct(t, 4, time.Hour)
			c.Connect(endpoint(t, 0, serve(t, 0, agent)))
			await(t, c, 0, "ready", is(decide.Ready))
			done := make(chan decide.ClientKey, 1)
			c.Finish([]decide.ClientKey{clientKey(0)}, test.options, func(key decide.ClientKey, _ *agentapi.FinishResponse) { done <- key })
			await(t, c, 0, "finished", is(decide.Finished))
			request := <-agent.requested
			if <-done != clientKey(0) || request.GetEpoch() != 4 || request.GetRemoveData() != test.options.RemoveData ||
				!slices.Equal(request.GetRemoveClients(), test.want) {
				t.Errorf("asked %v", request)
			}
		})
	}
}

// TestLeftIsToldFromStopped checks that an attempt that ended because its agent exited is distinguished from an attempt
// that was stopped on request.
func TestLeftIsToldFromStopped(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{agentapi.ReasonLeaving: true, "Stopped": false} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			cut := ended(func(e *agentapi.Ended) { e.Outcome, e.Reason = agentapi.Outcome_OUTCOME_STOPPED, reason })
			agent := &fake{describe: good(), watch: sends(sequence(cut))}
			c := conduct(t, 1, time.Hour)
			c.Connect(endpoint(t, 0, serve(t, 0, agent)))
			facts := await(t, c, 0, "ended", has(first, decide.Ended))
			if clientAttempt := facts.Attempts[first]; clientAttempt.AgentTerminated != want || clientAttempt.Failed != nil {
				t.Errorf("%+v", clientAttempt)
			}
		})
	}
}
