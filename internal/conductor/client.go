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

// client is one agent as seen from here.
type client struct {
	owner    *Conductor
	endpoint Endpoint
	// ctx ends when nothing more is wanted of the agent: closed, lost, unfit, finished or replaced.
	ctx          context.Context // It is the life of the client.
	cancel       context.CancelFunc
	replacements int
	begun        time.Time

	mu          sync.Mutex
	connection  decide.Connection
	reason      string
	message     string
	description *agentapi.DescribeResponse
	api         agentapi.AgentClient
	// address of the agent, once it is located.
	address string
	offset  measure.ClockOffset
	// seen is the newest record that was read, replay the newest there was when the agent was met:
	// until that is read, too, little is known of its steps and it does not count as ready.
	seen, replay uint64
	// broken is since when there was no good session; zero while there is one.
	broken   time.Time
	attempts map[decide.Attempt]*part
	kept     int
}

func newClient(owner *Conductor, endpoint Endpoint, replacements int) *client {
	ctx, cancel := context.WithCancel(owner.ctx)
	return &client{
		owner:        owner,
		endpoint:     endpoint,
		ctx:          ctx,
		cancel:       cancel,
		replacements: replacements,
		begun:        owner.Reference.Now(),
		connection:   decide.Connecting,
		message:      "not reached yet",
		attempts:     map[decide.Attempt]*part{},
	}
}

// service is the agent to call; an error while it was never dialled.
func (c *client) service() (agentapi.AgentClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == nil {
		return nil, status.Error(codes.Unavailable, "the agent was not reached yet")
	}
	return c.api, nil
}

// over notes why a session ended and reports whether there shall be no other. good says that the
// session was one: the agent was there until it broke.
func (c *client) over(err error, good bool) bool {
	c.mu.Lock()
	if c.connection == decide.Connecting {
		c.message = clean(plainly(err), maxMessageLength)
		if status.Code(err) == codes.Unavailable {
			c.message = clean("its agent does not answer yet: "+plainly(err), maxMessageLength)
		}
	}
	if good || c.broken.IsZero() {
		c.broken = time.Now()
	}
	connection, broken := c.connection, time.Since(c.broken)
	c.mu.Unlock()
	switch {
	case connection == decide.Lost, connection == decide.Unfit, connection == decide.Finished:
		return true
	case reasonOf(err) == agentapi.ReasonSuperseded:
		c.unfit(agentapi.ReasonSuperseded, status.Convert(err).Message())
		return true
	case connection == decide.Ready && broken > c.owner.options.LossTimeout:
		c.lose(fmt.Sprintf("out of reach for %s: %s", broken.Round(time.Second/10), plainly(err)))
		return true
	}
	c.owner.notify()
	return false
}

// plainly is what an error says, without what gRPC wraps around that of a connection: users read it while pods start.
func plainly(err error) string {
	message := status.Convert(err).Message()
	if inner, found := strings.CutPrefix(message, `connection error: desc = "transport: Error while dialing: `); found {
		return strings.TrimSuffix(inner, `"`)
	}
	return message
}

// reasonOf is the word that an agent sends with a refusal; empty when there is none.
func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// meet takes what the agent says of itself, and of steps that an earlier conductor gave it.
func (c *client) meet(description *agentapi.DescribeResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if description.GetLastSequence() < c.seen {
		return fmt.Errorf("its log has %d records and had %d: it is another agent, and what it did is forgotten",
			description.GetLastSequence(), c.seen)
	}
	first := c.description == nil
	c.description = description
	if first {
		c.replay = description.GetLastSequence()
	}
	for _, known := range description.GetSteps() {
		attempt := attemptOf(known.GetStep())
		switch known.GetState() {
		case agentapi.StepState_STEP_STATE_LOADED:
			c.advance(attempt, decide.Loaded)
		case agentapi.StepState_STEP_STATE_RUNNING:
			c.advance(attempt, decide.Running)
		case agentapi.StepState_STEP_STATE_ENDED, agentapi.StepState_STEP_STATE_UNSPECIFIED:
			// Its last record tells, which may have been read and put away long ago.
		}
	}
	c.readyWhenRead()
	return c.withinBudget()
}

// readyWhenRead makes the client ready once all that it did before it was met is known. Callers
// hold mu.
func (c *client) readyWhenRead() {
	if c.connection != decide.Connecting {
		return
	}
	if c.seen < c.replay {
		c.message = fmt.Sprintf("reading its log, %d of %d records", c.seen, c.replay)
		return
	}
	c.connection, c.reason, c.message = decide.Ready, "", ""
}

func (c *client) since() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// lose marks the client as gone for good, unless it left in order.
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
		Key:          c.endpoint.Key,
		Connection:   c.connection,
		Reason:       c.reason,
		Message:      c.message,
		Since:        c.begun,
		Replacements: c.replacements,
		Attempts:     map[decide.Attempt]decide.ClientStep{},
	}
	for attempt, p := range c.attempts {
		facts.Attempts[attempt] = decide.ClientStep{Progress: p.progress, Failed: p.failed, Since: p.failedSince, Left: p.left()}
	}
	return facts
}

func (c *client) describe() *agentapi.DescribeResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.description
}
