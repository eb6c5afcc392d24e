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

// order holds when a step starts and when its load ends at the latest, on the agent's clock.
type order struct {
	at, deadline int64
}

// step is one attempt of one step on this client:
//
//	loading -> loaded -> running -> ended
//
// It is running from the moment its order arrives, some time before the start instant, so that a repeated Start is a
// no-op. A step that is refused while it is loaded is forgotten.
type step struct {
	agent   *Agent
	key     *agentapi.StepKey
	request *agentapi.LoadRequest
	// tool is nil for a layout that is reused.
	tool tool
	// next is how to spawn the fio of the following step, as far as this step can foresee it.
	next spawning
	// unwritten is how many of the bytes that the step may read had never been written when it was loaded.
	unwritten uint64
	// unsure is why it is not known whether parts of what the step reads were never written; empty if it is known.
	unsure string
	// like is the sample of the data that the step's data is to resemble; nil if there is none.
	like *agentapi.DataSample

	// loaded is closed when the loading has ended. refusal, set before that, is why it failed.
	loaded  chan struct{}
	refusal error
	orders  chan order
	// stopped asks for the end of the load, abandoned for the end of the tool at once.
	stopped   context.Context // It carries the reason of the stop.
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

// stepName returns the name of an attempt in messages and maps.
func stepName(key *agentapi.StepKey) string {
	return fmt.Sprintf("%s#%d", key.GetId(), key.GetAttempt())
}

// tool is what a step runs: fio, a user's program, or the launcher or a member of an MPI job.
type tool interface {
	// exitedEarly returns a channel that is closed when the tool has ended; it is read only before the start. It is
	// nil for a tool that has no process by then.
	exitedEarly() <-chan struct{}
	// release starts the load of the tool now, and returns when nothing of it is left.
	release(given order) *agentapi.Ended
	// discard ends a tool that was never released.
	discard()
	// concludeEarly returns the result of a tool that has ended before it was released.
	concludeEarly() *agentapi.Ended
}

// same reports whether a request equals the one that loaded this step, except for the epoch.
func (s *step) same(request *agentapi.LoadRequest) bool {
	again, ok := proto.Clone(request).(*agentapi.LoadRequest)
	if !ok {
		return false
	}
	again.Epoch = s.request.GetEpoch()
	return proto.Equal(s.request, again)
}

// isLoaded reports whether the loading has ended.
func (s *step) isLoaded() bool {
	select {
	case <-s.loaded:
		return true
	default:
		return false
	}
}

// load makes all checks and spawns the tool. After an error nothing runs and nothing is open.
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
			// This step needs no fio. If there is none, the next step reports that.
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

// stop asks for the end of the step's load; only the first reason counts.
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
	if record.GetSample() == nil { // It has no text.
		mend(record)
	}
	if err := s.agent.log.Append(record); err != nil {
		// The log accepts every record that can be encoded, and mend has corrected the others.
		panic(err)
	}
}

// loadEnded spawns the fio of the next step in the background. It may be called more than once.
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
