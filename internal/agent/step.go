package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

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
// It counts as running as soon as its order arrives, before the start instant, so that a repeated Start is a no-op.
// A step that is refused while loading is forgotten.
type step struct {
	agent   *Agent
	key     *agentapi.StepKey
	request *agentapi.LoadRequest
	// tool is nil if an existing layout is reused.
	tool tool
	// next describes how to spawn the next step's fio, as predicted from this step.
	next spawning
	// unwritten is how many of the bytes that the step may read had never been written when the step was loaded.
	unwritten uint64
	// unsure is why it is unknown whether the step reads never-written data; empty if it is known.
	unsure string
	// like is the sample of user data that the step's data imitates (compressLike); nil without one.
	like *agentapi.DataSample

	// loaded is closed when loading has ended. refusal, set before that, is why it failed.
	loaded  chan struct{}
	refusal error
	orders  chan order
	// stopped ends the load; abandoned ends the tool at once.
	stopped   context.Context // its cause is the reason for the stop
	cancel    context.CancelCauseFunc
	abandoned chan struct{}
	abandon   func()
	ended     chan struct{}

	mu    sync.Mutex
	state agentapi.StepState
	order order
}

func newStep(a *Agent, request *agentapi.LoadRequest) *step {
	stopped, cancel := context.WithCancelCause(context.Background())
	abandoned := make(chan struct{})
	return &step{
		agent:     a,
		key:       request.GetStep(),
		request:   request,
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

// stepName returns the name of a step's attempt, for messages and maps.
func stepName(key *agentapi.StepKey) string {
	return fmt.Sprintf("%s#%d", key.GetId(), key.GetAttempt())
}

// tool runs the load of a step: fio, a user's program, or the launcher or a member of an MPI job.
type tool interface {
	// exitedEarly returns a channel that is closed when the tool exits; it is read only before the start. It is nil
	// for a tool that has no process before the start.
	exitedEarly() <-chan struct{}
	// release starts the tool's load, and returns when all processes of the tool have exited.
	release(given order) *agentapi.Ended
	// discard ends a tool that was never released.
	discard()
	// concludeEarly returns the result of a tool that exited before it was released.
	concludeEarly() *agentapi.Ended
}

// same reports whether a request equals the one that loaded this step, apart from the epoch.
func (s *step) same(request *agentapi.LoadRequest) bool {
	again, ok := proto.Clone(request).(*agentapi.LoadRequest)
	if !ok {
		return false
	}
	again.Epoch = s.request.GetEpoch()
	return proto.Equal(s.request, again)
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

// load makes all checks and spawns the tool. On an error it leaves nothing running and nothing open.
func (s *step) load() error {
	if runner := s.agent.runner; runner != nil && s.request.GetFio() != nil {
		load, err := runner.Load(s.request)
		if err == nil {
			s.tool = runnerTool{step: s, load: load}
		}
		return err
	}
	if s.request.GetMpi() != nil {
		return s.loadMPI()
	}
	if s.isSpread() {
		return s.loadSpread()
	}
	if s.request.GetCommand() != nil {
		return s.loadCommand()
	}
	working, err := s.prepareDirectory()
	if err != nil {
		return err
	}
	if err := s.findLike(); err != nil {
		_ = working.dataset.Close()
		return err
	}
	reusable, err := s.layout(working.dataset)
	if err != nil || reusable {
		if reusable {
			// This step needs no fio. An error is reported by the next step that needs one.
			s.next, _ = s.agent.howToSpawn(s, working)
		}
		_ = working.dataset.Close()
		return err
	}
	run, err := takeFio(s, working)
	if err != nil {
		return err
	}
	s.tool, s.next = run, run.how
	return nil
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

// stop ends the step's load; only the first reason counts.
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

// deadline returns the deadline of the load; 0 until the step has its order.
func (s *step) deadline() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.deadline
}

// carryOut waits for the order and executes it.
func (s *step) carryOut() *agentapi.Ended {
	var exited <-chan struct{}
	if s.tool != nil {
		exited = s.tool.exitedEarly()
	}
	select {
	case given := <-s.orders:
		late := time.Duration(s.agent.clock.Monotonic() - given.at)
		switch err := sleepUntil(s.stopped, s.agent.clock, given.at); {
		case err != nil:
			return s.discard(context.Cause(s.stopped).Error())
		case s.agent.clock.Monotonic() >= given.deadline:
			ended := s.discard("its deadline had passed when the order came")
			ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, reasonDeadline
			return ended
		case late > s.agent.timeouts.late:
			ended := s.discard(fmt.Sprintf("the order to start came %s after the instant of the start", late.Round(time.Millisecond)))
			ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, agentapi.ReasonStartMissed
			return ended
		case s.tool == nil:
			return s.reuse()
		}
		return s.tool.release(given)
	case <-s.stopped.Done():
		return s.discard(context.Cause(s.stopped).Error())
	case <-exited:
		return s.tool.concludeEarly()
	}
}

// discard ends a step before its start.
func (s *step) discard(reason string) *agentapi.Ended {
	if s.tool != nil {
		s.tool.discard()
	}
	return &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_STOPPED, Reason: reasonStopped, Message: "before its start: " + reason}
}

// write adds a record of this step to the log.
func (s *step) write(record *agentapi.Record) {
	record.Step = s.key
	if record.GetSample() == nil { // samples contain no text
		mend(record)
	}
	if err := s.agent.log.Append(record); err != nil {
		// The log accepts every record that can be encoded, and mend has made the texts valid.
		panic(err)
	}
}

// loadEnded spawns the next step's fio in the background. It may be called several times.
func (s *step) loadEnded() {
	if s.next.path != "" {
		go s.agent.spare.keep(s.next)
	}
}

// notice logs a warning before the end of the step.
func (s *step) notice(warning, format string, arguments ...any) {
	s.write(&agentapi.Record{Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{
		Warning: warning, Message: fmt.Sprintf(format, arguments...)}}})
}
