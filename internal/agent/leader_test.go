package agent

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/test/hang"
)

// TestOldLeaderIsRefused checks that every command of a superseded leader is refused and has no effect.
func TestOldLeaderIsRefused(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.load(request("a", endlessWrite))
	_, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 7})
	must(t, err)
	now := r.agent.env.Clock.Monotonic()
	commands := map[string]func(context.Context) error{
		"Describe": func(ctx context.Context) error {
			_, err := r.Describe(ctx, &agentapi.DescribeRequest{Epoch: 6})
			return err
		},
		"Load": func(ctx context.Context) error {
			load := request("b", endlessWrite)
			load.Epoch = 6
			_, err := r.Load(ctx, load)
			return err
		},
		"Start": func(ctx context.Context) error {
			_, err := r.Start(ctx, &agentapi.StartRequest{Epoch: 6, Step: key("a"), AtNanoseconds: now, DeadlineNanoseconds: now + 1e10})
			return err
		},
		"Stop": func(ctx context.Context) error {
			_, err := r.Stop(ctx, &agentapi.StopRequest{Epoch: 6})
			return err
		},
		"Watch": func(ctx context.Context) error {
			stream, err := r.Watch(ctx, &agentapi.WatchRequest{Epoch: 6})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"Finish": func(ctx context.Context) error {
			_, err := r.Finish(ctx, &agentapi.FinishRequest{Epoch: 6})
			return err
		},
	}
	for name, command := range commands {
		ctx, cancel := context.WithTimeout(t.Context(), hang.Guard)
		err := command(ctx)
		cancel()
		if status.Code(err) != codes.FailedPrecondition || reasonIn(err) != agentapi.ReasonSuperseded {
			t.Errorf("%s: %v", name, err)
		}
	}
	answer, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 7})
	must(t, err)
	if len(answer.GetSteps()) != 1 || answer.GetSteps()[0].GetState() != agentapi.StepState_STEP_STATE_LOADED || answer.GetLastSequence() != 0 {
		t.Errorf("the old leader did something: %v", answer)
	}
}

// TestNewLeaderEndsAnIdleWatch checks that a command of a newer leader ends a Watch, even an idle one, but a command of
// the same epoch does not.
func TestNewLeaderEndsAnIdleWatch(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	stream, err := r.Watch(t.Context(), &agentapi.WatchRequest{Epoch: 3})
	must(t, err)
	eventually(t, "the Watch does not begin", func() bool {
		r.agent.mu.Lock()
		defer r.agent.mu.Unlock()
		return r.agent.watchers == 1
	})
	_, err = r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 3})
	must(t, err)
	// The Watch still sends new records.
	must(t, r.agent.log.Append(&agentapi.Record{Entry: &agentapi.Record_Started{Started: &agentapi.Started{}}}))
	if _, err := stream.Recv(); err != nil {
		t.Fatalf("its own leader ended it: %v", err)
	}
	_, err = r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 4})
	must(t, err)
	if _, err := stream.Recv(); reasonIn(err) != agentapi.ReasonSuperseded {
		t.Errorf("got %v", err)
	}
}

func TestWatchGoesOnAfterAnyRecord(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	_, all := r.run(request("a", quickWrite), noLimit)
	for since := range uint64(len(all)) {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := r.Watch(ctx, &agentapi.WatchRequest{Epoch: 1, Since: since})
		must(t, err)
		for want := since + 1; want <= uint64(len(all)); want++ {
			record, err := stream.Recv()
			must(t, err)
			if record.GetSequence() != want {
				t.Fatalf("after %d came record %d, want %d", since, record.GetSequence(), want)
			}
		}
		cancel()
	}
	stream, err := r.Watch(t.Context(), &agentapi.WatchRequest{Epoch: 1, Since: uint64(len(all)) + 1})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.OutOfRange {
		t.Errorf("a Watch of another log: %v", err)
	}
}

func TestWatchEndsWhenTheAgentLeaves(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.load(request("a", endlessWrite))
	stream, err := r.Watch(t.Context(), &agentapi.WatchRequest{Epoch: 1})
	must(t, err)
	_, err = r.Finish(t.Context(), &agentapi.FinishRequest{Epoch: 1})
	must(t, err)
	record, err := stream.Recv()
	if err != nil || record.GetEnded().GetReason() != "Stopped" {
		t.Errorf("got %v, %v", record, err)
	}
	if record, err := stream.Recv(); err == nil || status.Code(err) != codes.Unknown {
		t.Errorf("after the last record: %v, %v", record, err)
	}
}
