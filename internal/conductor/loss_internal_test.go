package conductor

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/decide"
)

// TestAgentsStart checks that an agent that refuses connections is reported as starting for the first seconds, and as
// an error after that.
func TestAgentsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := New(Options{RunUID: "run-1", Epoch: 1, LossTimeout: time.Minute})
		defer owner.Close()
		c := newClient(owner, decide.ClientKey{Target: "target"}, 0)
		gone := status.Error(codes.Unavailable, "connection refused")
		time.Sleep(time.Hour) // until its pod runs
		for _, want := range []string{"the agent is starting", "the agent does not answer: connection refused"} {
			if over := c.sessionEnded(gone, false); over || c.facts().Message != want {
				t.Errorf("%q, want %q; over: %t", c.facts().Message, want, over)
			}
			time.Sleep(startGrace)
		}
		c.sessionEnded(status.Error(codes.Unauthenticated, "wrong certificate"), false)
		if got := c.facts().Message; got != "wrong certificate" {
			t.Errorf("another error: %q", got)
		}
	})
}

// TestLossTimeout checks that a client is lost once it has been unreachable for longer than the loss timeout. Silence
// on a working connection does not count, a working session restarts the timeout, and a lost client stays lost.
func TestLossTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 8 * time.Second
		owner := New(Options{RunUID: "run-1", Epoch: 1, LossTimeout: timeout})
		defer owner.Close()
		c := newClient(owner, decide.ClientKey{Target: "target"}, 0)
		c.connection = decide.Ready
		gone := status.Error(codes.Unavailable, "connection refused")
		breaks := func(good, over bool) {
			t.Helper()
			if got := c.sessionEnded(gone, good); got != over {
				t.Fatalf("after a session (good: %t), the client is over: %t, connection %s", good, got, c.facts().Connection)
			}
		}
		time.Sleep(time.Hour)
		breaks(true, false)
		time.Sleep(timeout)
		breaks(false, false)
		breaks(true, false)
		time.Sleep(timeout)
		breaks(false, false)
		time.Sleep(time.Millisecond)
		breaks(false, true)
		if facts := c.facts(); facts.Connection != decide.Lost || facts.Reason != "ClientLost" || facts.Message != "unreachable for 8s: connection refused" {
			t.Errorf("got %+v", facts)
		}
		breaks(true, true)
	})
}

// TestUnreachable checks that a ready client counts as unreachable from the end of its session until it is lost.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := New(Options{RunUID: "run-1", Epoch: 1, LossTimeout: time.Second})
		defer owner.Close()
		key := decide.ClientKey{Target: "target"}
		c := newClient(owner, key, 0)
		owner.keys, owner.clients = []decide.ClientKey{key}, map[decide.ClientKey]*client{key: c}
		gone := status.Error(codes.Unavailable, "connection refused")
		steps := []struct {
			what string
			do   func()
			want []decide.ClientKey
		}{
			{"not reached yet", func() { c.sessionEnded(gone, false) }, nil},
			{"ready", func() { c.connection = decide.Ready }, nil},
			{"its session broke", func() { c.sessionEnded(gone, true) }, []decide.ClientKey{key}},
			{"lost", func() { time.Sleep(2 * time.Second); c.sessionEnded(gone, false) }, nil},
		}
		for _, step := range steps {
			step.do()
			if got := owner.Unreachable(); !slices.Equal(got, step.want) {
				t.Errorf("%s: unreachable are %v, want %v", step.what, got, step.want)
			}
		}
	})
}
