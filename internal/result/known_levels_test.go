package result_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestShortRedrains checks that a redrain measures a burst of 0.6 to 8 seconds, with a refill of half the baseline. The
// bucket was empty before the pause. There are one or three clients, whose samples end at different times, and some
// bursts have a dip of 1.6 s.
func TestShortRedrains(t *testing.T) {
	const burst, baseline, refill = 60e6, 10e6, 5e6
	for _, clients := range []int{1, 3} {
		for _, one := range []struct{ seconds, dip float64 }{{seconds: 0.6}, {seconds: 1.3}, {seconds: 2.77}, {seconds: 3.2}, {seconds: 4.5},
			{seconds: 7.9}, {seconds: 6.34, dip: 2.6}, {seconds: 7.5, dip: 3}} {
			t.Run(fmt.Sprintf("%d clients, %g s, dip %g", clients, one.seconds, one.dip), func(t *testing.T) {
				seconds := one.seconds
				done := func(until float64) float64 {
					dipped := 0.0
					if one.dip > 0 {
						dipped = max(min(until, one.dip+1.6)-one.dip, 0)
					}
					fast := min(until, seconds)
					return (fast-dipped)*burst + dipped*baseline/10 + (until-fast)*baseline
				}
				pause := done(seconds)/refill - seconds // so that the credits last for seconds
				var told []result.Client
				for index := range clients {
					// All clients start together, but their samples end at different times.
					client := builders.Client("a", index)
					for from, to := 0.0, 1-0.13*float64(index); from < 20; from, to = to, to+1 {
						blocks := uint64(math.Round((done(to) - done(from)) / float64(clients) / 65536))
						length := time.Duration((to - from) * float64(time.Second))
						client.Sample(length, measure.Write, builders.Counter(blocks, 65536), 4*time.Millisecond)
					}
					told = append(told, client.Obj())
				}
				step := plan.Step{ID: "01-refill-drain", Phase: "refill", Kind: v1alpha1.PhaseCooldown, Purpose: plan.Drain, Redrain: true,
					Targets: []string{"a"}, Clients: clients, Cell: -1, Duration: time.Minute}
				first := told[0].IOStart
				ended := first.Add(-time.Duration(pause * float64(time.Second)))
				history := result.History{BucketEmpty: true,
					Earlier:              []result.Span{{Start: ended.Add(-time.Minute), End: ended, Bytes: 1e9, Operations: 1e4}},
					DrainSpent:           &result.Spent{Amount: 6e8, Refill: baseline, Burst: burst, Baseline: baseline},
					DrainSpentOperations: &result.Spent{Amount: 9155, Refill: baseline / 65536, Burst: burst / 65536, Baseline: baseline / 65536}}
				made := result.Target(step, "a", told, history)
				if made.Burst == nil || made.Burst.Bytes == nil || !made.Burst.Exhausted {
					t.Fatalf("not exhausted: %+v", made.Burst)
				}
				found := made.Burst.Bytes
				if found.RefillSource != "Measured" || math.Abs(float64(found.Refill.Value)/refill-1) > 0.05 {
					t.Errorf("refill %+v by %s, want %g", found.Refill, found.RefillSource, refill)
				}
				if at := float64(made.Burst.NanosecondsToBaseline.Value) / 1e9; math.Abs(at-seconds) > 0.05*seconds+0.25 { // a part of a sample: those of several clients are spread
					t.Errorf("it fell at %g s, want %g", at, seconds)
				}
				if got, want := float64(found.Burst.Value), done(seconds)/seconds; seconds > 2 && math.Abs(got/want-1) > 0.05+0.03*float64(clients-1)/2 { // the burst ends within more than one sample if there are several clients
					t.Errorf("burst %g, want %g", got, want)
				}
				if got := float64(found.Baseline.Value); math.Abs(got/baseline-1) > 0.05 {
					t.Errorf("baseline %g, want %g", got, baseline)
				}
			})
		}
	}
}

// TestShortRedrainInterval checks that the interval of a level of a few seconds is computed like that of any other mean
// of a few samples.
func TestShortRedrainInterval(t *testing.T) {
	client := builders.Client("data", 0)
	var tail []detect.Sample
	for i, rate := range []float64{60e6, 30e6, 9.8e6, 10.3e6, 9.9e6, 10.4e6, 9.6e6} {
		client.Sample(time.Second, measure.Write, builders.Counter(uint64(rate/1000), 1000), 4*time.Millisecond)
		if i > 1 {
			tail = append(tail, detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: rate})
		}
	}
	end := builders.Start.Add(-10 * time.Second)
	history := result.History{BucketEmpty: true,
		Earlier:    []result.Span{{Start: end.Add(-300 * time.Second), End: end, Bytes: 3e9, Operations: 3e6}},
		DrainSpent: &result.Spent{Amount: 900e6, Refill: 10e6, Burst: 60e6, Baseline: 10e6}}
	got := result.Target(redrainStep(7), "data", []result.Client{client.Obj()}, history).Burst
	if got == nil || !got.Exhausted || !strings.Contains(got.Message, "from the levels of the previous drain") {
		t.Fatalf("%+v", got)
	}
	want, _ := detect.MeanError(tail)
	baseline := got.Bytes.Baseline
	if half := *baseline.Upper - baseline.Value; math.Abs(float64(half)/want-1) > 0.01 {
		t.Errorf("the baseline is %d, and its interval is %d on each side, want %g", baseline.Value, half, want)
	}
}

// TestShortRedrainIsMeasured checks that a short burst measured with the levels of an earlier drain is not called too
// short to be measured, and has no five-second peak.
func TestShortRedrainIsMeasured(t *testing.T) {
	store := bucket{60, 8, 8, 900}
	end := builders.Start.Add(-10 * time.Second)
	history := result.History{BucketEmpty: true,
		Earlier:    []result.Span{{Start: end.Add(-300 * time.Second), End: end, Bytes: 3e9, Operations: 3e6}},
		DrainSpent: &result.Spent{Amount: 900e6, Refill: 8e6, Burst: 60e6, Baseline: 8e6}}
	got := result.Target(redrainStep(180), "data", store.drain(1, 80, 180), history).Burst
	if !got.Exhausted || got.Peak5sBytesPerSecond != nil || strings.Contains(got.Message, "too irregular to be measured") {
		t.Errorf("exhausted %v, peak %v, message %q", got.Exhausted, got.Peak5sBytesPerSecond, got.Message)
	}
}
