package conductor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/plan"
)

const (
	// retryInterval is the pause before a failed connection or an unanswered Load command is retried.
	retryInterval = 100 * time.Millisecond
	// keepAlive limits how long an agent may be silent before it is pinged, and how long its answer to the ping may take.
	// It is also the minimum timeout of a connection attempt.
	keepAlive = 10 * time.Second
	// introduceTimeout limits the time for an agent to describe itself. To do so, the agent determines its tools'
	// versions, which takes seconds on a machine that starts many pods.
	introduceTimeout = 30 * time.Second
	// maxDialPause limits the backoff, so that a new or recovered agent is reached quickly.
	maxDialPause = 250 * time.Millisecond
	// startGrace limits how long an agent that refuses connections counts as starting, because a container runs for a
	// while before its program listens.
	startGrace = 5 * time.Second
	// goodSession is the duration after which a session counts as good even if it has received no records.
	goodSession = 250 * time.Millisecond
	// readBuffer is the size of the read buffer of a connection. An agent sends a few hundred bytes per second, and
	// gRPC's default of 32 KiB would be a third of the conductor's memory per agent.
	readBuffer = 4 << 10
	// window is the number of bytes that an agent may send before they are read. It is fixed to limit memory: by
	// default, gRPC increases the window to up to 16 MiB for a fast sender, and a small message that has not been read
	// yet takes ten times its size in memory.
	window = 64 << 10
	// clockInterval is the interval between clock estimates during a session.
	clockInterval = time.Minute
)

// follow maintains a session with the agent until the client is lost, finished or replaced.
func (c *client) follow(endpoint Endpoint) {
	address, err := endpoint.Locate(c.ctx)
	if err != nil {
		c.lose(err.Error())
		return
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(endpoint.TLS)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAlive, Timeout: keepAlive}),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: keepAlive, Backoff: backoff.Config{
			BaseDelay: retryInterval, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxDialPause}}),
		grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithReadBufferSize(readBuffer),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(c.maxMessage()),
			grpc.ForceCodec(c.codec())),
	}
	if dial := endpoint.Dial; dial != nil {
		options = append(options, grpc.WithContextDialer(dial))
	}
	connection, err := grpc.NewClient("passthrough:///"+address, options...)
	if err != nil {
		c.unfit("BadAddress", err.Error())
		return
	}
	defer func() { _ = connection.Close() }()
	c.mu.Lock()
	c.api, c.address = agentapi.NewAgentClient(connection), address
	c.mu.Unlock()
	for c.ctx.Err() == nil {
		good, err := c.session()
		if status.Code(err) == codes.ResourceExhausted {
			c.lose("the agent sent a message above the size limit: " + plainly(err))
		}
		if c.ctx.Err() != nil || c.sessionEnded(err, good) {
			return
		}
		select {
		case <-time.After(retryInterval):
		case <-c.ctx.Done():
		}
	}
}

// session reads the agent's description, then its log until the stream breaks. The session counts as good if it
// received records or lasted at least goodSession.
func (c *client) session() (good bool, err error) {
	api, err := c.service()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if err := c.introduce(ctx, api); err != nil {
		return false, err
	}
	began := time.Now()
	stream, err := api.Watch(ctx, &agentapi.WatchRequest{Epoch: c.owner.options.Epoch, Since: c.since()})
	if err != nil {
		return false, err
	}
	comparing := make(chan struct{})
	defer func() { cancel(); <-comparing }()
	go func() {
		defer close(comparing)
		c.compareClocks(ctx)
	}()
	for {
		record, err := stream.Recv()
		if err != nil {
			return good || time.Since(began) > goodSession, err
		}
		if err := c.take(record); err != nil {
			c.unfit("BadRecord", err.Error())
			return false, err
		}
		good = true
	}
}

// introduce reads the agent's description and estimates its clock offset.
func (c *client) introduce(ctx context.Context, api agentapi.AgentClient) error {
	ctx, cancel := context.WithTimeout(ctx, introduceTimeout)
	defer cancel()
	description, err := api.Describe(ctx, &agentapi.DescribeRequest{Epoch: c.owner.options.Epoch})
	if err != nil {
		return err
	}
	if problem := c.mismatch(description); problem != nil {
		c.unfit(problem.Reason, problem.Message)
		return problem
	}
	if err := c.estimateClock(ctx); err != nil {
		return err
	}
	if err := c.storeDescription(description); err != nil {
		c.lose(err.Error())
		return err
	}
	c.mu.Lock()
	c.unreachable = false
	c.mu.Unlock()
	c.budget.enforce()
	c.owner.notify()
	return nil
}

// maxMessage returns the size limit for the agent's messages. Only the launcher of an MPI job sends repetitions.
func (c *client) maxMessage() int {
	key := c.key
	if key.Index == engine.Launcher && slices.ContainsFunc(c.owner.options.Steps, func(step plan.Step) bool {
		return step.Load(key.Target).SpansClients
	}) {
		return maxMessageBytes + maxRepetitions*maxRepetitionBytes
	}
	return maxMessageBytes
}

func (c *client) codec() codec {
	return codec{maxBytes: c.maxMessage(), received: c.receive, unreadable: c.loseUnreadable}
}

// loseUnreadable marks the client as lost because its agent sent an unreadable message.
func (c *client) loseUnreadable(err error) {
	c.lose("the agent sent an unreadable message: " + err.Error())
}

// mismatch returns the reason why the agent that responded cannot serve this client, or nil if it can.
func (c *client) mismatch(d *agentapi.DescribeResponse) *decide.Failure {
	key := c.key
	if d.GetProtocol() != agentapi.Protocol {
		return &decide.Failure{Reason: "ProtocolMismatch", Message: fmt.Sprintf(
			"the agent (version %s) has protocol version %d, but this operator needs %d: use the agent image of the operator's version",
			cmp.Or(d.GetAgentVersion(), "unknown"), d.GetProtocol(), agentapi.Protocol)}
	}
	if d.GetRunUid() != c.owner.options.RunUID || d.GetTarget() != key.Target || int(d.GetClient()) != key.Index {
		return &decide.Failure{Reason: "WrongAgent", Message: fmt.Sprintf(
			"wrong agent: client %s/%d of run %s answered", d.GetTarget(), d.GetClient(), d.GetRunUid())}
	}
	if problem := excessive(d); problem != "" {
		return &decide.Failure{Reason: "BadRecord", Message: problem}
	}
	for _, volume := range d.GetVolumes() {
		if volume.GetProblem() != "" {
			return &decide.Failure{Reason: "VolumeUnfit", Message: fmt.Sprintf(
				"volume %s at %s: %s", volume.GetName(), volume.GetPath(), volume.GetProblem())}
		}
	}
	return c.lacks(d)
}

// lacks returns a failure if the client lacks a required tool.
func (c *client) lacks(d *agentapi.DescribeResponse) *decide.Failure {
	missing := func(name, problem string) *decide.Failure {
		return &decide.Failure{Reason: "ToolMissing", Message: fmt.Sprintf("%s: %s", name, problem)}
	}
	problems := map[string]string{}
	for _, tool := range d.GetTools() {
		problems[tool.GetName()] = tool.GetProblem()
	}
	for _, name := range c.owner.options.tools(c.key.Target) {
		switch problem, reported := problems[name]; {
		case !reported && c.owner.options.Tools != nil:
			return missing(name, "not in the client's image: use an image that contains it")
		case problem != "":
			return missing(name, problem)
		}
	}
	return nil
}
