package volumes

import (
	"context"
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// TestProbeThatDoesNotComeBack checks that callers join a probe that hangs instead of starting another one, and get the
// last good description of the volume.
func TestProbeThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	set := newSet(t)
	configured, known := set.env.Config.Volumes[0], &set.probes
	never, cancel := context.WithCancel(t.Context())
	cancel()
	hanging := &probe{done: make(chan struct{})}
	known.pending = map[string]*probe{"data": hanging}
	for range 3 {
		if got := set.describe(never, configured); got.GetProblem() == "" || got.GetPath() != configured.Path {
			t.Errorf("got %v", got)
		}
	}
	if set.probe(configured) != hanging {
		t.Error("another probe was begun beside one that hangs")
	}
	known.good = map[string]*agentapi.Volume{"data": {Name: "data", TotalBytes: 5}}
	if got := set.describe(never, configured); got.GetProblem() != "" || got.GetTotalBytes() != 5 {
		t.Errorf("got %v", got)
	}
	known.pending = nil
	if got := set.describe(t.Context(), configured); got.GetProblem() != "" || got.GetTotalBytes() <= 5 {
		t.Errorf("got %v", got)
	}
	if got := known.good["data"]; got.GetTotalBytes() <= 5 {
		t.Errorf("it remembers %v", got)
	}
}
