package conductor

import (
	"context"
	"regexp"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
)

const (
	// commandTimeout limits the duration of one command. A Load command can be slow, because agents create directories
	// for the step.
	commandTimeout = 2 * time.Minute
	// finishTimeout limits the duration of a Finish command. It is longer than an agent needs to remove its data.
	finishTimeout = 10 * time.Minute
)

// each runs a command on the given clients, in the background.
func (c *Conductor) each(timeout time.Duration, keys []decide.ClientKey, command func(context.Context, *client)) {
	for _, client := range c.all() {
		if !slices.Contains(keys, client.key) {
			continue
		}
		c.run(func() {
			ctx, cancel := context.WithTimeout(client.ctx, timeout)
			defer cancel()
			command(ctx, client)
			c.notify()
		})
	}
}

// ask records that an attempt has been requested. It drops the reports about earlier attempts of the same step, except
// their progress.
func (c *Conductor) ask(attempt decide.Attempt) {
	c.requested.ask(attempt)
	for _, client := range c.all() {
		client.reduceEarlier(attempt)
	}
	c.latencies.forget(attempt.Previous())
}

// Load sends an attempt to clients. When the connection to a client can send, Load calls the function request, and sets
// the step and the epoch in the returned LoadRequest.
func (c *Conductor) Load(attempt decide.Attempt, keys []decide.ClientKey, request func(decide.ClientKey) *agentapi.LoadRequest) {
	c.ask(attempt)
	for _, key := range keys {
		if client := c.client(key); client != nil {
			client.progress(attempt, decide.Loading)
		}
	}
	c.each(commandTimeout, keys, func(ctx context.Context, client *client) {
		client.loaded(ctx, attempt, client.load(ctx, func() proto.Message {
			load := request(client.key)
			load.Epoch = c.options.Epoch
			load.Step = stepKey(attempt)
			return load
		}))
	})
}

// load sends a Load command with the request that build returns.
func (c *client) load(ctx context.Context, build func() proto.Message) error {
	api, err := c.service()
	if err == nil {
		_, err = api.Load(ctx, nil, grpc.ForceCodec(lateCodec{c.codec(), build}))
	}
	return err
}

// loaded handles the answer to a Load command. If there was no answer, loaded waits for retryInterval and then forgets
// the attempt, so that the next Load command sends the attempt again. If the agent refused the attempt, loaded records
// the reason.
func (c *client) loaded(ctx context.Context, attempt decide.Attempt, err error) {
	switch status.Code(err) {
	case codes.OK:
		c.progress(attempt, decide.Loaded)
		return
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
		}
		c.unload(attempt)
		return
	default:
	}
	reason := reasonOf(err)
	if reason == agentapi.ReasonSuperseded {
		c.unload(attempt)
		c.unfit(reason, status.Convert(err).Message())
		return
	}
	if reason = word(reason, "LoadFailed"); reason == "" {
		reason = "LoadFailed"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.clientAttempt(attempt)
	p.failed = &decide.Failure{Reason: reason, Message: clean(status.Convert(err).Message(), maxMessageLength)}
	p.failedSince = c.owner.Reference.Now()
	c.advance(attempt, decide.Refused)
}

// unload forgets an attempt if it was sent but not confirmed.
func (c *client) unload(attempt decide.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.attempts[attempt]; p != nil && p.progress == decide.Loading {
		c.remove(attempt)
	}
}

// Start tells clients to start an attempt that they have loaded. It sends each client the common start instant and the
// deadline, converted to the clock of its agent.
func (c *Conductor) Start(attempt decide.Attempt, keys []decide.ClientKey, start, deadline time.Time) {
	c.each(commandTimeout, keys, func(ctx context.Context, client *client) {
		api, err := client.service()
		if err != nil {
			return
		}
		_, err = api.Start(ctx, &agentapi.StartRequest{
			Epoch:               c.options.Epoch,
			Step:                stepKey(attempt),
			AtNanoseconds:       client.remote(start),
			DeadlineNanoseconds: client.remote(deadline),
		})
		switch {
		case err == nil:
			client.progress(attempt, decide.Running)
		case status.Code(err) == codes.NotFound:
			// This client's agent has already confirmed the Load command for the step. If the agent does not know the
			// step, another agent process must have taken its place.
			client.lose("the agent no longer has a step that it had loaded: " + status.Convert(err).Message())
		}
	})
}

// Stop ends the load of an attempt. The agent then logs the end of the load.
func (c *Conductor) Stop(attempt decide.Attempt, keys []decide.ClientKey, reason string) {
	c.each(commandTimeout, keys, func(ctx context.Context, client *client) {
		if api, err := client.service(); err == nil {
			// Ignore errors: either the caller calls Stop again, or the agent is lost.
			_, _ = api.Stop(ctx, &agentapi.StopRequest{
				Epoch: c.options.Epoch, Step: stepKey(attempt), Reason: reason})
		}
	})
}

// FinishOptions specifies which data clients remove before they exit.
type FinishOptions struct {
	// RemoveData makes each client remove its own data.
	RemoveData bool
	// AlsoRemove lists the indexes of lost clients of the same target, which shared the volumes of the remaining clients.
	// Each client removes their data along with its own. AlsoRemove applies only with RemoveData.
	AlsoRemove []int
	// OrphanedData selects data from before the run for clients to remove. It may be nil.
	OrphanedData func(decide.ClientKey) OrphanedData
}

// OrphanedData selects the data of other benchmarks and earlier runs that clients remove from their volumes.
type OrphanedData struct {
	// Gone lists the UIDs of deleted benchmarks, whose data clients remove.
	Gone []string
	// Clients is the client count of the target. If it is not 0, clients remove earlier datasets of the run's own
	// benchmark and the data of clients with an index of Clients or more. If it is 0, they keep both.
	Clients int
}

// Finish asks clients to remove data and to exit. It calls done with each client's answer.
func (c *Conductor) Finish(keys []decide.ClientKey, options FinishOptions, done func(decide.ClientKey, *agentapi.FinishResponse)) {
	c.each(finishTimeout, keys, func(ctx context.Context, client *client) {
		if client.describe() == nil {
			// The conductor has never reached the client's agent, so there is no data to remove. No command is needed:
			// the pod is deleted, or the process is terminated.
			client.lose("never reached")
			return
		}
		api, err := client.service()
		if err != nil {
			return
		}
		// Finish is sent only once. If the connection is broken, wait until it is restored instead of failing.
		answer, err := api.Finish(ctx, c.finishRequest(client.key, options), grpc.WaitForReady(true))
		if err != nil {
			client.lose("no answer to Finish: " + status.Convert(err).Message())
			return
		}
		done(client.key, finished(answer))
		client.leave(decide.Finished, "", "")
	})
}

func (c *Conductor) finishRequest(key decide.ClientKey, options FinishOptions) *agentapi.FinishRequest {
	request := &agentapi.FinishRequest{Epoch: c.options.Epoch, RemoveData: options.RemoveData}
	if options.RemoveData {
		for _, index := range options.AlsoRemove {
			request.RemoveClients = append(request.RemoveClients, int32(index)) //nolint:gosec // The API allows far fewer clients.
		}
	}
	if options.OrphanedData != nil {
		orphaned := options.OrphanedData(key)
		request.GoneBenchmarks, request.Clients = orphaned.Gone, int32(orphaned.Clients) //nolint:gosec // The API allows far fewer clients.
	}
	return request
}

// finished returns an agent's answer to Finish with bounded and sanitized values.
func finished(answer *agentapi.FinishResponse) *agentapi.FinishResponse {
	return &agentapi.FinishResponse{
		DataRemoved: answer.GetDataRemoved(), Problem: clean(answer.GetProblem(), maxMessageLength),
		LeftRemoved: max(0, answer.GetLeftRemoved()), LeftStays: cleanAll(answer.GetLeftStays())}
}

// maxLeftStays limits the messages kept from an agent about data that it could not remove.
const maxLeftStays = 16

func cleanAll(texts []string) []string {
	var all []string
	for _, text := range texts[:min(len(texts), maxLeftStays)] {
		all = append(all, clean(text, maxMessageLength))
	}
	return all
}

// uidText matches valid benchmark UIDs.
var uidText = regexp.MustCompile(`^[A-Za-z0-9-]{1,63}$`)

// Owners returns the UIDs of other benchmarks of the same installation that have directories on the clients' volumes.
func (c *Conductor) Owners() []string {
	var all []string
	for _, client := range c.all() {
		for _, volume := range client.describe().GetVolumes() {
			all = append(all, volume.GetOwners()...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxOwners)]
}

// maxOwners limits the number of UIDs that Owners returns.
const maxOwners = 256

func stepKey(attempt decide.Attempt) *agentapi.StepKey {
	return &agentapi.StepKey{Id: attempt.Step, Attempt: uint32(attempt.Number)} //nolint:gosec // Attempts are few.
}

func attemptOf(key *agentapi.StepKey) decide.Attempt {
	return decide.Attempt{Step: key.GetId(), Number: int(key.GetAttempt())}
}
