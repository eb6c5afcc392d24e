package conductor

import (
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// TestFollowLeavesOutSyncs checks that syncs are excluded from the totals. Live credits are computed from these
// totals, and syncs spend no credits.
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
