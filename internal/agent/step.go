package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// order is when a step starts and when its load ends at the latest, on the agent's clock.
type order struct {
	at, deadline int64
}

// step is one attempt of one step on this client:
//
//	loading -> loaded -> running -> ended
//
// It becomes running when its order is taken, some time before the instant, so that a repeated
// Start is a no-op.
type step struct {
	agent   *Agent
	key     *agentapi.StepKey
	request *agentapi.LoadRequest
	tool    *fioRun

	orders  chan order
	stopped context.Context
	cancel  context.CancelCauseFunc
	ended   chan struct{}

	mu    sync.Mutex
	state agentapi.StepState
	order order
}

func newStep(a *Agent, request *agentapi.LoadRequest) *step {
	stopped, cancel := context.WithCancelCause(context.Background())
	return &step{
		agent:   a,
		key:     request.GetStep(),
		request: request,
		orders:  make(chan order, 1),
		stopped: stopped,
		cancel:  cancel,
		ended:   make(chan struct{}),
		state:   agentapi.StepState_STEP_STATE_LOADED,
	}
}

// stepName is how messages and maps name an attempt.
func stepName(key *agentapi.StepKey) string {
	return fmt.Sprintf("%s#%d", key.GetId(), key.GetAttempt())
}

// same says whether a request loads what this step was loaded with.
func (s *step) same(request *agentapi.LoadRequest) bool {
	again, ok := proto.Clone(request).(*agentapi.LoadRequest)
	if !ok {
		return false
	}
	again.Epoch = s.request.GetEpoch()
	return proto.Equal(s.request, again)
}

// load makes all checks and spawns the tool. An error means that nothing runs.
func (s *step) load(ctx context.Context) error {
	working, err := s.agent.prepareDirectory(ctx, s.request)
	if err != nil {
		close(s.ended)
		return err
	}
	s.tool, err = spawnFio(s, working)
	if err != nil {
		close(s.ended)
		return err
	}
	return nil
}

// start takes the first order; later ones are ignored.
func (s *step) start(given order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != agentapi.StepState_STEP_STATE_LOADED {
		return
	}
	s.state = agentapi.StepState_STEP_STATE_RUNNING
	s.order = given
	s.orders <- given
}

// stop asks for the end of the step's load; the first reason stays.
func (s *step) stop(reason string) { s.cancel(errors.New(reason)) }

func (s *step) status() *agentapi.StepStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &agentapi.StepStatus{Step: s.key, State: s.state}
}

// deadline is 0 until the step has its order.
func (s *step) deadline() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.deadline
}

// run waits for the order, carries it out, and ends with the step's Ended record in the log.
func (s *step) run() {
	result := s.carryOut()
	s.write(&agentapi.Record{Entry: &agentapi.Record_Ended{Ended: result}})
	s.mu.Lock()
	s.state = agentapi.StepState_STEP_STATE_ENDED
	s.mu.Unlock()
	close(s.ended)
}

func (s *step) carryOut() *agentapi.Ended {
	select {
	case given := <-s.orders:
		if err := sleepUntil(s.stopped, s.agent.clock, given.at); err != nil {
			return s.tool.discard(context.Cause(s.stopped).Error())
		}
		return s.tool.release(given)
	case <-s.stopped.Done():
		return s.tool.discard(context.Cause(s.stopped).Error())
	case <-s.tool.exited:
		return s.tool.conclude(order{})
	}
}

// write adds a record of this step to the log. The log refuses nothing that the agent makes
// itself, so an error is a mistake in the program and is said in the log's own words.
func (s *step) write(record *agentapi.Record) {
	record.Step = s.key
	if err := s.agent.log.Append(record); err != nil {
		panic(err)
	}
}

// notice writes a warning while the step runs.
func (s *step) notice(warning, format string, arguments ...any) {
	s.write(&agentapi.Record{Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{
		Warning: warning, Message: fmt.Sprintf(format, arguments...)}}})
}
