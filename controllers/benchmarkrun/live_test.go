package benchmarkrun

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
)

// TestLiveWaitsForTheLogs checks that, after a restart of the operator, there are no counters until it has read every
// client's log again: lower values than before would look like a counter reset. Afterwards the counters stay, even
// while a client is replaced.
func TestLiveWaitsForTheLogs(t *testing.T) {
	s := &session{benchmark: "nightly", phases: map[string]string{}, conductor: conductor.New(conductor.Options{RunUID: "r", Epoch: 1})}
	t.Cleanup(s.conductor.Close)
	key := client.ObjectKey{Namespace: "storage", Name: "nightly-1"}
	lose := s.conductor.Connect(conductor.Endpoint{Key: decide.ClientKey{Target: "share"}, Locate: func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}})
	run := s.look(key)
	if run.Benchmark != "nightly" || run.Clients["share"]["Connecting"] != 1 {
		t.Errorf("got %+v", run)
	}
	if run.Loads != nil || run.Samples != nil {
		t.Errorf("there are counters while a log is being read: %+v", run)
	}
	lose("the pod is gone")
	if run := s.look(key); run.Loads == nil || run.Samples == nil {
		t.Errorf("no counters although every client's log was read or the client is gone: %+v", run)
	}
	s.conductor.Connect(conductor.Endpoint{Key: decide.ClientKey{Target: "share"}, Replacements: 1, Locate: func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}})
	if run := s.look(key); run.Loads == nil {
		t.Error("the counters disappear while a client is replaced")
	}
}

// TestCountSince checks that the counters restart now if clients were lost before this operator process took over: the
// counts of those clients are unknown.
func TestCountSince(t *testing.T) {
	run, now := &v1alpha1.BenchmarkRun{}, time.Now()
	if !countSince(run, now).IsZero() {
		t.Error("the counters restart although no client was lost")
	}
	run.Status.LostClients = []v1alpha1.LostClient{{Target: "a"}}
	if !countSince(run, now).Equal(now) {
		t.Error("the counters do not restart although a client was lost")
	}
}
