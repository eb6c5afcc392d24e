package result_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestShortEndIsNoRate checks that a partial second at the end of a drain is not a level of its own, even if one
// operation more makes its rate high. It once hid the burst of a short redrain.
func TestShortEndIsNoRate(t *testing.T) {
	client := builders.Client("a", 0)
	for _, one := range []struct {
		milliseconds int
		rate         float64
	}{
		{885, 59833998}, {1000, 60030976}, {1001, 53947716}, {998, 9981435}, {1000, 9961472}, {999, 10233850}, {1001, 9951520},
		{1000, 9961472}, {1000, 9961472}, {999, 9971443}, {1000, 9961472}, {1000, 9961472}, {1000, 10223616}, {1000, 9961472}, {600, 24966076},
	} {
		length := time.Duration(one.milliseconds) * time.Millisecond
		bytes := uint64(one.rate * length.Seconds())
		client.Sample(length, measure.Write, measure.Counter{Operations: bytes / 262144, Bytes: bytes}, 4*time.Millisecond)
	}
	step := plan.Step{ID: "00-refill-drain", Phase: "refill", Kind: v1alpha1.PhaseCooldown, Purpose: plan.Drain, Redrain: true,
		Targets: []string{"a"}, Clients: 1, Cell: -1, Duration: time.Minute}
	told := client.Obj()
	// The load ends 21 ms after the start of the last sample.
	concluded := told.IOStart.Add(13904 * time.Millisecond)
	made := result.Target(step, "a", []result.Client{told}, result.History{BucketEmpty: true, Concluded: concluded})
	if made.Burst == nil || made.Burst.Bytes == nil || len(made.Burst.Bytes.Segments) == 0 {
		t.Fatalf("got %+v", made.Burst)
	}
	last := made.Burst.Bytes.Segments[len(made.Burst.Bytes.Segments)-1]
	if !made.Burst.Exhausted || last.Mean.Value < 9_900_000 || last.Mean.Value > 10_100_000 {
		t.Errorf("exhausted %t, the last segment %+v", made.Burst.Exhausted, last)
	}
}
