package conductor

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// TestFollowLeavesOutSyncs checks that the totals exclude syncs. Live credits are computed from the totals, and syncs
// spend no credits.
func TestFollowLeavesOutSyncs(t *testing.T) {
	var r running
	sample := measure.Sample{EndNanoseconds: 1e9}
	sample.Counters[measure.Read] = measure.Counter{Bytes: 4096, Operations: 1}
	sample.Counters[measure.Trim] = measure.Counter{Bytes: 8192, Operations: 2}
	sample.Counters[measure.Sync] = measure.Counter{Operations: 40}
	for range 2 {
		r.follow(&sample, &agentapi.Sample{})
	}
	if want := (measure.Counter{Bytes: 2 * 12288, Operations: 6}); r.done != want {
		t.Errorf("got %+v, want %+v", r.done, want)
	}
}

// TestDoingAfterAClientHasEnded checks that the time of a target's live figures advances until the last of its clients
// has ended.
func TestDoingAfterAClientHasEnded(t *testing.T) {
	attempt := decide.Attempt{Step: "00-layout", Number: 1}
	var doing result.Doing
	for _, seconds := range []int64{60, 1800} {
		var p clientAttempt
		sample := measure.Sample{StartNanoseconds: 1e9, EndNanoseconds: seconds * 1e9}
		p.samples.add(&sample)
		p.running.follow(&sample, &agentapi.Sample{})
		one := client{attempts: map[decide.Attempt]*clientAttempt{attempt: &p}}
		one.doing(attempt, &doing)
	}
	if doing.SinceNanoseconds != 1e9 || doing.UntilNanoseconds != 1800e9 {
		t.Errorf("it lasted from %d to %d ns", doing.SinceNanoseconds, doing.UntilNanoseconds)
	}
}

// TestRateLeavesOutSyncs checks that a write followed by a sync counts as one operation in the live rate.
func TestRateLeavesOutSyncs(t *testing.T) {
	owner := New(Options{RunUID: "run-1", Epoch: 1, LossTimeout: time.Minute})
	defer owner.Close()
	attempt, key := decide.Attempt{Step: "write", Number: 1}, decide.ClientKey{Target: "data"}
	c := newClient(owner, key, 0)
	c.connection = decide.Ready
	owner.keys, owner.clients[key] = []decide.ClientKey{key}, c
	p := &clientAttempt{progress: decide.Running, samples: samples{count: 1}}
	sample := measure.Sample{EndNanoseconds: 1e9}
	sample.Counters[measure.Write] = measure.Counter{Bytes: 400 * 4096, Operations: 400}
	sample.Counters[measure.Sync] = measure.Counter{Operations: 400}
	p.running.follow(&sample, &agentapi.Sample{})
	c.attempts[attempt] = p
	if bytesPerSecond, iops := owner.Rate(attempt); bytesPerSecond != 400*4096 || iops != 400 {
		t.Errorf("%g bytes and %g operations per second", bytesPerSecond, iops)
	}
}
