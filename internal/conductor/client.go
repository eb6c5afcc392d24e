package conductor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// client is the conductor's view of one agent.
type client struct {
	owner *Conductor
	key   decide.ClientKey
	// ctx is canceled when the client is lost, unsuitable for the run (decide.Unfit), finished or replaced, or when the
	// conductor is closed.
	ctx          context.Context
	cancel       context.CancelFunc
	replacements int
	begun        time.Time

	mu          sync.Mutex
	connection  decide.Connection
	reason      string
	message     string
	description *agentapi.DescribeResponse
	api         agentapi.AgentClient
	// address is the agent's listen address, or "" while it is unknown.
	address string
	offset  measure.ClockOffset
	// seen is the sequence number of the newest record that the conductor has read. replay is the sequence number of
	// the newest record in the agent's log when the agent was first reached. Until that record is read, the state of
	// the client's steps is unknown and the client is not ready.
	seen, replay uint64
	// broken is the time at which the last good session ended (see session) or, if there was none, the time of the first
	// failure. unreachable is true while a ready agent has no session.
	broken      time.Time
	unreachable bool
	attempts    map[decide.Attempt]*clientAttempt
	// sent counts all bytes that the agent has sent, including dropped reports.
	sent int64
	// budget counts the memory used for the agent: its attempts, its description (descriptionBytes), and its share of
	// the memory of Conductor.latencies. A few strings of limited length are not counted.
	budget           *Budget
	descriptionBytes int
	// working counts the memory for computing a result from the samples of the client.
	working *Budget
}

func newClient(owner *Conductor, key decide.ClientKey, replacements int) *client {
	ctx, cancel := context.WithCancel(owner.ctx)
	c := &client{
		owner:        owner,
		key:          key,
		ctx:          ctx,
		cancel:       cancel,
		replacements: replacements,
		begun:        owner.Reference.Now(),
		connection:   decide.Connecting,
		message:      "not connected yet",
		attempts:     map[decide.Attempt]*clientAttempt{},
	}
	c.budget = owner.budget.ofClient(c.shed)
	c.working = owner.working.split("one client", owner.working.limit, c.shed)
	return c
}

// shed marks the client as lost and drops its reports. It keeps a record of the attempts in which the client took part.
func (c *client) shed(reason string) {
	c.lose(reason)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

// drop drops everything that the client has reported, except the progress of its attempts. Attempts that had ended no
// longer count as ended, because the records of their results are dropped. Callers hold mu.
func (c *client) drop() {
	for attempt, p := range c.attempts {
		progress := p.progress
		if progress == decide.Ended {
			progress = decide.Running
		}
		c.reduce(attempt, progress)
	}
	c.owner.latencies.drop(c.budget)
}

// replace disconnects a client whose agent has been replaced, and drops its records.
func (c *client) replace() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for attempt := range c.attempts {
		c.remove(attempt)
	}
	c.budget.add(-c.descriptionBytes)
	c.description, c.descriptionBytes = nil, 0
	c.budget.close()
	c.working.close()
}

// service returns the gRPC client of the agent. It fails until the agent's address is known.
func (c *client) service() (agentapi.AgentClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == nil {
		return nil, status.Error(codes.Unavailable, "the agent has not been reached yet")
	}
	return c.api, nil
}

// sessionEnded records the reason why a session ended, and reports whether to stop opening sessions. good is true if
// the session worked before it broke.
func (c *client) sessionEnded(err error, good bool) bool {
	c.mu.Lock()
	if good || c.broken.IsZero() {
		c.broken = time.Now()
	}
	connection, broken := c.connection, time.Since(c.broken)
	c.unreachable = connection == decide.Ready
	if connection == decide.Connecting {
		switch {
		case status.Code(err) != codes.Unavailable:
			c.message = clean(plainly(err), maxMessageLength)
		case broken < startGrace:
			c.message = "the agent is starting"
		default:
			c.message = clean("the agent does not answer: "+plainly(err), maxMessageLength)
		}
	}
	c.mu.Unlock()
	switch {
	case connection == decide.Lost, connection == decide.Unfit, connection == decide.Finished:
		return true
	case reasonOf(err) == agentapi.ReasonSuperseded:
		c.unfit(agentapi.ReasonSuperseded, status.Convert(err).Message())
		return true
	case connection == decide.Ready && broken > c.owner.options.LossTimeout:
		c.lose(fmt.Sprintf("unreachable for %s: %s", broken.Round(time.Second/10), plainly(err)))
		return true
	}
	c.owner.notify()
	return false
}

// plainly returns an error's message without gRPC's prefix for failed connections. Users see such messages while
// pods start.
func plainly(err error) string {
	message := status.Convert(err).Message()
	if inner, found := strings.CutPrefix(message, `connection error: desc = "transport: Error while dialing: `); found {
		return strings.TrimSuffix(inner, `"`)
	}
	return message
}

// reasonOf returns the reason that an agent gives for refusing a request, or "" if it gives none.
func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// storeDescription stores an agent's description of itself and of the steps that an earlier conductor sent. It fails
// if the agent's log has become shorter, which means that the agent was restarted.
func (c *client) storeDescription(description *agentapi.DescribeResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if description.GetLastSequence() < c.seen {
		return fmt.Errorf("the agent's log shrank from %d to %d records: the agent was restarted and lost its results",
			c.seen, description.GetLastSequence())
	}
	first := c.description == nil
	c.description = description
	if first {
		c.replay = description.GetLastSequence()
	}
	for _, known := range description.GetSteps() {
		attempt := attemptOf(known.GetStep())
		if c.owner.requested.of(c.key, attempt) == unrequested {
			continue
		}
		switch known.GetState() {
		case agentapi.StepState_STEP_STATE_LOADED:
			if c.attempts[attempt] == nil {
				c.clientAttempt(attempt).inherited = true
			}
			c.advance(attempt, decide.Loaded)
		case agentapi.StepState_STEP_STATE_RUNNING:
			c.advance(attempt, decide.Running)
		case agentapi.StepState_STEP_STATE_ENDED, agentapi.StepState_STEP_STATE_UNSPECIFIED:
			// Do not record the end of an attempt here: the agent's log also contains it, together with the result.
			// This conductor may even have read that entry already and forgotten the attempt.
		}
	}
	description.Steps = nil
	bytes := keptBytes(description)
	c.budget.add(bytes - c.descriptionBytes)
	c.descriptionBytes = bytes
	c.readyWhenRead()
	return nil
}

// receive counts the bytes that the agent has sent, including unknown fields. If they far exceed a client's budget, it
// marks the client as lost and returns an error.
func (c *client) receive(bytes int) error {
	c.mu.Lock()
	c.sent += int64(bytes)
	most := resent * c.budget.Limit()
	over := c.sent > most
	c.mu.Unlock()
	if !over {
		return nil
	}
	err := fmt.Errorf("the agent sent more than %s, %d times the memory limit of one client", mebibytes(most), resent)
	c.budget.lose(err.Error())
	return err
}

// readyWhenRead marks the client as ready once all records from before the connection have been read. Callers hold mu.
func (c *client) readyWhenRead() {
	if c.connection != decide.Connecting {
		return
	}
	if c.seen < c.replay {
		c.message = fmt.Sprintf("reading the agent's log: %d of %d records", c.seen, c.replay)
		return
	}
	c.connection, c.reason, c.message = decide.Ready, "", ""
}

func (c *client) since() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// lose marks the client as lost, unless it has finished.
func (c *client) lose(message string) { c.leave(decide.Lost, "ClientLost", message) }

func (c *client) unfit(reason, message string) { c.leave(decide.Unfit, reason, message) }

func (c *client) leave(connection decide.Connection, reason, message string) {
	c.mu.Lock()
	if c.connection != decide.Finished && c.connection != decide.Lost {
		c.connection, c.reason, c.message = connection, word(reason, "ClientLost"), clean(message, maxMessageLength)
	}
	c.mu.Unlock()
	c.cancel()
	c.owner.notify()
}

func (c *client) facts() decide.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	facts := decide.Client{
		Key:          c.key,
		Connection:   c.connection,
		Reason:       c.reason,
		Message:      c.message,
		Since:        c.begun,
		Replacements: c.replacements,
		Attempts:     map[decide.Attempt]decide.ClientStep{},
	}
	for attempt, p := range c.attempts {
		facts.Attempts[attempt] = decide.ClientStep{Progress: p.progress, Failed: p.failed, Since: p.failedSince,
			Stopped: p.stopped() && !p.agentTerminated(), AgentTerminated: p.agentTerminated(), Inherited: p.inherited}
	}
	return facts
}

func (c *client) describe() *agentapi.DescribeResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.description
}
