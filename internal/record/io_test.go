package record

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestNoteIOLeavesOutSyncs checks that syncs do not count as operations of a step, because they spend no credits. A
// step with only syncs must still count as a load of the target.
func TestNoteIOLeavesOutSyncs(t *testing.T) {
	syncs := measure.Counter{Operations: 300}
	for name, test := range map[string]struct {
		client *builders.ClientBuilder
		want   v1alpha1.StepIO
	}{
		"writes and syncs": {
			builders.Client("a", 0).Does(10, measure.Write, builders.Counter(200, 4096), time.Millisecond).Also(measure.Sync, syncs, time.Millisecond),
			v1alpha1.StepIO{Target: "a", Bytes: 2000 * 4096, Operations: 2000}},
		"syncs alone": {builders.Client("a", 0).Does(10, measure.Sync, syncs, time.Millisecond), v1alpha1.StepIO{Target: "a"}},
	} {
		var fact v1alpha1.StepStatus
		noteIO(&fact, []string{"a", "b"}, []result.Client{test.client.Obj()})
		if len(fact.IO) != 1 || fact.IO[0] != test.want {
			t.Errorf("%s: got %+v, want %+v", name, fact.IO, test.want)
		}
	}
}

// TestSpanOfATarget checks that the I/O of a target lasts from its own first to its own last operation, not to those of
// other targets in the step. The refill is computed from the idle time of each target.
func TestSpanOfATarget(t *testing.T) {
	does := func(target string, from time.Duration, seconds int) result.Client {
		return builders.Client(target, 0).Later(from).
			Does(seconds, measure.Write, builders.Counter(200, 4096), time.Millisecond).Obj()
	}
	var fact v1alpha1.StepStatus
	noteIO(&fact, []string{"a", "b"}, []result.Client{does("a", 0, 10), does("b", 20*time.Second, 20)})
	for target, seconds := range map[string][2]time.Duration{"a": {0, 10}, "b": {20, 40}} {
		start, end := builders.Start.Add(seconds[0]*time.Second), builders.Start.Add(seconds[1]*time.Second)
		if got, ok := span(&fact, target); !ok || !got.Start.Equal(start) || !got.End.Equal(end) {
			t.Errorf("target %s: got %+v, want %s to %s", target, got, start, end)
		}
	}
	if !fact.FirstIOTime.Time.Equal(builders.Start) {
		t.Errorf("the step started at %s, want %s", fact.FirstIOTime, builders.Start)
	}
	if want := builders.Start.Add(40 * time.Second); !fact.LastIOTime.Time.Equal(want) {
		t.Errorf("the step ended at %s, want %s", fact.LastIOTime, want)
	}
}
