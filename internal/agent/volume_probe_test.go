package agent

import (
	"context"
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// A look that does not come back is made once, however often it is asked for; and a volume that was
// good is not bad for being slow.
func TestLookThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	var l looks
	configured := VolumeConfig{Name: "data", Path: t.TempDir()}
	never, cancel := context.WithCancel(t.Context())
	cancel()
	hanging := &look{done: make(chan struct{})}
	l.pending = map[string]*look{"data": hanging}
	for range 3 {
		if got := l.at(never, configured); got.GetProblem() == "" || got.GetPath() != configured.Path {
			t.Errorf("got %v", got)
		}
	}
	if l.join(configured) != hanging {
		t.Error("another look was begun beside one that hangs")
	}
	l.good = map[string]*agentapi.Volume{"data": {Name: "data", TotalBytes: 5}}
	if got := l.at(never, configured); got.GetProblem() != "" || got.GetTotalBytes() != 5 {
		t.Errorf("got %v", got)
	}
	l.pending = nil
	if got := l.at(t.Context(), configured); got.GetProblem() != "" || got.GetTotalBytes() <= 5 {
		t.Errorf("got %v", got)
	}
	if got := l.good["data"]; got.GetTotalBytes() <= 5 {
		t.Errorf("it remembers %v", got)
	}
}
