package agent

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// Watch implements agentapi.AgentServer. It ends when the agent exits, and returns an error when a newer leader has
// taken over.
func (a *Agent) Watch(request *agentapi.WatchRequest, stream grpc.ServerStreamingServer[agentapi.Record]) error {
	ctx, done, err := a.attend(stream.Context(), request)
	if err != nil {
		return err
	}
	defer done()
	for cursor := a.log.After(request.GetSince()); ; {
		if err := cursor.Wait(ctx); err != nil {
			return a.whyEnded(ctx, request.GetEpoch())
		}
		records, err := cursor.Next()
		if err != nil {
			return status.Error(codes.DataLoss, err.Error())
		}
		for _, record := range records {
			if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errFinished) {
				return a.whyEnded(ctx, request.GetEpoch())
			}
			if err := stream.Send(record); err != nil {
				return err
			}
		}
	}
}

// errFinished ends a Watch once all records have been sent.
var errFinished = errors.New("the agent is leaving")

// attend begins a Watch. The returned context is canceled when the stream ends, when a newer leader takes over, or when
// the agent has finished. Call the returned function at the end of the Watch.
func (a *Agent) attend(stream context.Context, request *agentapi.WatchRequest) (context.Context, func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(request.GetEpoch()); err != nil {
		return nil, nil, err
	}
	if last := a.log.Last(); request.GetSince() > last {
		return nil, nil, status.Errorf(codes.OutOfRange,
			"records after %d were requested, but the log ends at %d: this is not the log that was read earlier",
			request.GetSince(), last)
	}
	a.watchers++
	ctx, cancel := context.WithCancelCause(stream)
	leading := a.leading
	stopDeposed := context.AfterFunc(leading, func() { cancel(context.Cause(leading)) })
	gone := make(chan struct{})
	go func() {
		select {
		case <-a.finished:
			cancel(errFinished)
		case <-gone:
		}
	}()
	return ctx, func() {
		stopDeposed()
		close(gone)
		cancel(nil)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watchers--
		a.lastContact = a.env.Clock.Monotonic()
	}, nil
}

func (a *Agent) whyEnded(ctx context.Context, epoch uint64) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFinished):
		return nil
	case errors.Is(cause, errDeposed):
		a.mu.Lock()
		defer a.mu.Unlock()
		return superseded(epoch, a.epoch)
	default:
		return status.FromContextError(ctx.Err()).Err()
	}
}
