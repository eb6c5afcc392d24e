package conductor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// commandTimeout bounds one command; loading a step creates directories on slow file systems.
	commandTimeout = 2 * time.Minute
	// retryInterval is the pause before an agent is tried again.
	retryInterval = 100 * time.Millisecond
	keepAlive     = 10 * time.Second
	// maxMessageBytes bounds one record: a result holds a few histograms of at most 30 kB.
	maxMessageBytes = 4 << 20
)

// client is one agent as seen from here.
type client struct {
	owner        *Conductor
	endpoint     Endpoint
	cancel       context.CancelFunc
	replacements int
	begun        time.Time

	mu          sync.Mutex
	connection  decide.Connection
	reason      string
	message     string
	description *agentapi.DescribeResponse
	api         agentapi.AgentClient
	offset      measure.ClockOffset
	seen        uint64
	reached     time.Time
	attempts    map[decide.Attempt]*part
}

func newClient(owner *Conductor, endpoint Endpoint, cancel context.CancelFunc) *client {
	return &client{
		owner:      owner,
		endpoint:   endpoint,
		cancel:     cancel,
		begun:      owner.Reference.Now(),
		connection: decide.Connecting,
		message:    "not reached yet",
		attempts:   map[decide.Attempt]*part{},
	}
}

// follow keeps a session with the agent until it is lost, finished or replaced.
func (c *client) follow(ctx context.Context) {
	address, err := c.endpoint.Locate(ctx)
	if err != nil {
		c.lose(err.Error())
		return
	}
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(credentials.NewTLS(c.endpoint.TLS)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAlive, Timeout: keepAlive}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)))
	if err != nil {
		c.unfit("BadAddress", err.Error())
		return
	}
	defer func() { _ = connection.Close() }()
	c.mu.Lock()
	c.api = agentapi.NewAgentClient(connection)
	c.mu.Unlock()
	for ctx.Err() == nil {
		err := c.session(ctx)
		if ctx.Err() != nil || c.over(err) {
			return
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
		}
	}
}

// over notes why a session ended and says whether there shall be no other.
func (c *client) over(err error) bool {
	c.mu.Lock()
	connection, reached := c.connection, c.reached
	if connection == decide.Connecting {
		c.message = status.Convert(err).Message()
	}
	c.mu.Unlock()
	switch {
	case connection == decide.Lost, connection == decide.Unfit, connection == decide.Finished:
		return true
	case status.Code(err) == codes.FailedPrecondition:
		c.unfit("Superseded", status.Convert(err).Message())
		return true
	case connection == decide.Ready && time.Since(reached) > c.owner.options.LossTimeout:
		c.lose(fmt.Sprintf("out of reach for %s: %s", c.owner.options.LossTimeout, status.Convert(err).Message()))
		return true
	}
	c.owner.notify()
	return false
}

// session gets to know the agent and reads its log until the stream breaks.
func (c *client) session(ctx context.Context) error {
	asked, cancel := context.WithTimeout(ctx, keepAlive)
	defer cancel()
	description, err := c.api.Describe(asked, &agentapi.DescribeRequest{Epoch: c.owner.options.Epoch})
	if err != nil {
		return err
	}
	if problem := c.mismatch(description); problem != nil {
		c.unfit(problem.Reason, problem.Message)
		return problem
	}
	if err := c.estimateClock(asked); err != nil {
		return err
	}
	c.meet(description)
	stream, err := c.api.Watch(ctx, &agentapi.WatchRequest{Epoch: c.owner.options.Epoch, Since: c.since()})
	if err != nil {
		return err
	}
	for {
		record, err := stream.Recv()
		if err != nil {
			return err
		}
		c.take(record)
	}
}

// mismatch is why an agent that answers cannot be this client; nil when it can.
func (c *client) mismatch(d *agentapi.DescribeResponse) *decide.Failure {
	key := c.endpoint.Key
	if d.GetRunUid() != c.owner.options.RunUID || d.GetTarget() != key.Target || int(d.GetClient()) != key.Index {
		return &decide.Failure{Reason: "WrongAgent", Message: fmt.Sprintf(
			"the agent that answers is client %s/%d of run %s", d.GetTarget(), d.GetClient(), d.GetRunUid())}
	}
	for _, volume := range d.GetVolumes() {
		if volume.GetProblem() != "" {
			return &decide.Failure{Reason: "VolumeUnfit", Message: fmt.Sprintf(
				"volume %s at %s: %s", volume.GetName(), volume.GetPath(), volume.GetProblem())}
		}
	}
	for _, tool := range d.GetTools() {
		if tool.GetProblem() != "" {
			return &decide.Failure{Reason: "ToolMissing", Message: fmt.Sprintf("%s: %s", tool.GetName(), tool.GetProblem())}
		}
	}
	return nil
}

// meet takes what the agent says of itself, and of steps that an earlier conductor gave it.
func (c *client) meet(description *agentapi.DescribeResponse) {
	c.mu.Lock()
	c.description = description
	c.connection = decide.Ready
	c.reason, c.message = "", ""
	c.reached = time.Now()
	for _, known := range description.GetSteps() {
		p := c.part(attemptOf(known.GetStep()))
		if p.progress == decide.Ended {
			continue
		}
		p.progress = decide.Loaded
		if known.GetState() != agentapi.StepState_STEP_STATE_LOADED {
			p.progress = decide.Running
		}
	}
	c.mu.Unlock()
	c.owner.notify()
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
		c.connection, c.reason, c.message = connection, reason, message
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
		facts.Attempts[attempt] = decide.ClientStep{Progress: p.progress, Failed: p.failed}
	}
	return facts
}

func (c *client) describe() *agentapi.DescribeResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.description
}
