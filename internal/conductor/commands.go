package conductor

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
)

// Load sends an attempt to clients. The request is made anew for each by request, which gets its
// key; step and epoch are filled in here.
func (c *Conductor) Load(attempt decide.Attempt, keys []decide.ClientKey, request func(decide.ClientKey) *agentapi.LoadRequest) {
	for _, key := range keys {
		if client := c.client(key); client != nil {
			client.progress(attempt, decide.Loading)
		}
	}
	c.each(keys, func(ctx context.Context, client *client) {
		load := request(client.endpoint.Key)
		load.Epoch = c.options.Epoch
		load.Step = stepKey(attempt)
		// Clocks drift; an estimate is as fresh as the step that it serves.
		err := client.estimateClock(ctx)
		if err == nil {
			_, err = client.api.Load(ctx, load)
		}
		client.loaded(ctx, attempt, err)
	})
}

// loaded notes the answer to a Load. Where there was none the attempt is forgotten, to be sent
// again, or the client is lost meanwhile.
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
		c.forget(attempt)
		return
	default:
	}
	failure := &decide.Failure{Reason: "LoadFailed", Message: status.Convert(err).Message()}
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			failure.Reason = info.GetReason()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.part(attempt)
	p.progress, p.failed = decide.Refused, failure
}

// Start sends the common start instant and the deadline, each in the agent's own clock.
func (c *Conductor) Start(attempt decide.Attempt, keys []decide.ClientKey, start, deadline time.Time) {
	c.each(keys, func(ctx context.Context, client *client) {
		_, err := client.api.Start(ctx, &agentapi.StartRequest{
			Epoch:               c.options.Epoch,
			Step:                stepKey(attempt),
			AtNanoseconds:       client.remote(start),
			DeadlineNanoseconds: client.remote(deadline),
		})
		if err == nil {
			client.progress(attempt, decide.Running)
		}
	})
}

// Stop ends the load of an attempt. Its end comes by the log.
func (c *Conductor) Stop(attempt decide.Attempt, keys []decide.ClientKey, reason string) {
	c.each(keys, func(ctx context.Context, client *client) {
		// An agent that cannot be told will be asked again, or be lost.
		_, _ = client.api.Stop(ctx, &agentapi.StopRequest{
			Epoch: c.options.Epoch, Step: stepKey(attempt), Reason: reason})
	})
}

// Finish tells clients to tidy up and leave. done gets each one's answer.
func (c *Conductor) Finish(keys []decide.ClientKey, removeData bool, done func(decide.ClientKey, *agentapi.FinishResponse)) {
	c.each(keys, func(ctx context.Context, client *client) {
		if client.describe() == nil {
			// It was never reached, so it has done nothing; whoever started it ends it.
			client.lose("never reached")
			return
		}
		answer, err := client.api.Finish(ctx, &agentapi.FinishRequest{Epoch: c.options.Epoch, RemoveData: removeData})
		if err != nil {
			client.lose("no answer to Finish: " + status.Convert(err).Message())
			return
		}
		done(client.endpoint.Key, answer)
		client.leave(decide.Finished, "", "")
	})
}

func stepKey(attempt decide.Attempt) *agentapi.StepKey {
	return &agentapi.StepKey{Id: attempt.Step, Attempt: uint32(attempt.Number)} //nolint:gosec // Attempts are few.
}

func attemptOf(key *agentapi.StepKey) decide.Attempt {
	return decide.Attempt{Step: key.GetId(), Number: int(key.GetAttempt())}
}
