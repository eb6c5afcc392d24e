package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// order is the start instant and the deadline of a step's load, on the agent's clock.
type order struct {
	at, deadline int64
}

// step is one attempt of one step on this client:
//
//	loading -> loaded -> running -> ended
//
// A step counts as running as soon as its order arrives, before the start instant, so that a repeated Start is a no-op.
// The agent forgets a step that is refused while loading. It keeps ended steps until the agent exits, but drops their
// requests, which name every file of the dataset, and their loads, which hold the tool's output.
type step struct {
	agent *Agent
	key   *agentapi.StepKey
	// content and epoch are those of the newest LoadRequest for the step. agent.mu guards them.
	content content
	epoch   uint64
	// load is nil once the step has ended.
	load tool.Load

	// loaded is closed when loading has ended. refusal is set before that if loading failed.
	loaded  chan struct{}
	refusal error
	orders  chan order
	// stopped is canceled when the load must stop; its cause is the reason. abandoned is closed when the agent cannot wait
	// for the load any longer. The tool must then end immediately.
	stopped   context.Context
	cancel    context.CancelCauseFunc
	abandoned chan struct{}
	abandon   func()
	ended     chan struct{}

	mu    sync.Mutex
	state agentapi.StepState
	order order
}

// content is a digest of a LoadRequest. It excludes the epoch, because a newer leader may repeat an older leader's
// request. It also excludes the number of clients that share the volume, because a client may be lost before the
// request is repeated.
type content [sha256.Size]byte

func contentOf(request *agentapi.LoadRequest) (content, error) {
	without := proto.CloneOf(request)
	without.Epoch = 0
	if wanted := without.GetDataset(); wanted != nil {
		wanted.Sharing = 0
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(without)
	if err != nil {
		return content{}, fmt.Errorf("encode the request: %w", err)
	}
	return sha256.Sum256(encoded), nil
}

func newStep(a *Agent, key *agentapi.StepKey, loaded content) *step {
	stopped, cancel := context.WithCancelCause(context.Background())
	abandoned := make(chan struct{})
	return &step{
		agent:     a,
		key:       key,
		content:   loaded,
		loaded:    make(chan struct{}),
		orders:    make(chan order, 1),
		stopped:   stopped,
		cancel:    cancel,
		abandoned: abandoned,
		abandon:   sync.OnceFunc(func() { close(abandoned) }),
		ended:     make(chan struct{}),
		state:     agentapi.StepState_STEP_STATE_LOADED,
	}
}

// forTool converts the step to the form that its tool receives.
func (s *step) forTool(request *agentapi.LoadRequest) *tool.Step {
	return &tool.Step{Environment: s.agent.env, Request: request, Stopped: s.stopped, Abandoned: s.abandoned,
		Ended: s.ended,
		Write: s.write, LogBytes: s.agent.log.SizeBytes}
}

// prepare lets the tool check and prepare the load.
func (s *step) prepare(request *agentapi.LoadRequest) (err error) {
	s.load, err = s.agent.tools.of(request).Load(s.forTool(request))
	return err
}

// isLoaded reports whether loading has ended.
func (s *step) isLoaded() bool {
	select {
	case <-s.loaded:
		return true
	default:
		return false
	}
}

// start accepts the first order and ignores later ones.
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

// stop ends the step's load. If it is called again, the first reason is kept.
func (s *step) stop(reason string) { s.cancel(errors.New(reason)) }

func (s *step) status() *agentapi.StepStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &agentapi.StepStatus{Step: s.key, State: s.state}
}

func (s *step) setState(state agentapi.StepState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// deadline returns the deadline of the load, or 0 if the step has no order yet.
func (s *step) deadline() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.deadline
}

// carryOut waits for the order and executes it.
func (s *step) carryOut() *agentapi.Ended {
	var exited <-chan struct{}
	waiting, waits := s.load.(tool.Waiting)
	if waits {
		exited = waiting.Exited()
	}
	select {
	case given := <-s.orders:
		late := time.Duration(s.agent.env.Clock.Monotonic() - given.at)
		switch err := sleepUntil(s.stopped, s.agent.env.Clock, given.at); {
		case err != nil:
			return s.discard(context.Cause(s.stopped).Error())
		case s.agent.env.Clock.Monotonic() >= given.deadline:
			ended := s.discard("the request to start arrived after the step's deadline")
			ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, tool.ReasonDeadline
			return ended
		case late > s.agent.env.Timeouts.Late:
			ended := s.discard(fmt.Sprintf("the request to start arrived %s after the start instant", late.Round(time.Millisecond)))
			ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, agentapi.ReasonStartMissed
			return ended
		}
		return s.load.Run(given.deadline)
	case <-s.stopped.Done():
		return s.discard(context.Cause(s.stopped).Error())
	case <-exited:
		return waiting.Conclude()
	}
}

// discard ends a step before its start.
func (s *step) discard(reason string) *agentapi.Ended {
	s.load.Discard()
	return &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_STOPPED, Reason: tool.ReasonStopped,
		Message: "before its start: " + reason}
}

// write adds a record of this step to the log.
func (s *step) write(record *agentapi.Record) {
	record.Step = s.key
	if record.GetSample() == nil { // Do not mend samples: they contain no text that could be unprintable.
		mend(record)
	}
	if err := s.agent.log.Append(record); err != nil {
		// Append cannot fail here: the log accepts every record that can be encoded, and mend has made the record's strings
		// valid UTF-8.
		panic(err)
	}
}
