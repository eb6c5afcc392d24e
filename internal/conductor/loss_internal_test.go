package conductor

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/decide"
)

// TestLossTimeout checks that a client is lost once it has been unreachable for longer than the loss timeout.
// Silence on a working connection does not count, a good session restarts the timeout, and a lost client remains
// lost.
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
				t.Fatalf("after a session that was good: %t, it is over: %t, and is %s", good, got, c.facts().Connection)
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
