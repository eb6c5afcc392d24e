package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// TestLivePoints follows a step for up to two days at several intervals. There must be few points, which cover the step
// from its start, never go back in time, and are evenly spaced within a factor of four.
func TestLivePoints(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	fact := &v1alpha1.StepStatus{StartTime: &metav1.MicroTime{Time: start}}
	for _, interval := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 7 * time.Second} {
		var points []v1alpha1.LivePoint
		most := 0
		for i := range 20_000 {
			now := start.Add(time.Second + time.Duration(i+1)*interval)
			done := result.Doing{Done: measure.Counter{Bytes: uint64(i+1) * 1000, Operations: uint64(i+1) * 10},
				SinceNanoseconds: start.Add(time.Second).UnixNano(), UntilNanoseconds: now.UnixNano()}
			points = withPoint(points, fact, &done)
			most = max(most, len(points))
			last := points[len(points)-1]
			if last.Bytes != int64(i+1)*1000 || points[0].Milliseconds != 1000 || points[0].Bytes != 0 {
				t.Fatalf("after %d: %+v to %+v", i, points[0], last)
			}
		}
		if most > maxPoints || len(points) < maxPoints/3 {
			t.Errorf("every %s: %d points, %d at most", interval, len(points), most)
		}
		whole := points[len(points)-1].Milliseconds - points[0].Milliseconds
		for i := 1; i < len(points)-1; i++ {
			gap := points[i].Milliseconds - points[i-1].Milliseconds
			if even := whole / int64(len(points)); gap <= 0 || gap > 4*even {
				t.Errorf("every %s: a gap of %d ms at point %d of %d, where %d is even", interval, gap, i, len(points), even)
			}
		}
	}
	// A new attempt starts from the beginning. A clock that goes back changes nothing.
	done := result.Doing{Done: measure.Counter{Bytes: 5}, SinceNanoseconds: start.UnixNano(), UntilNanoseconds: start.Add(time.Second).UnixNano()}
	known := []v1alpha1.LivePoint{{}, {Milliseconds: 5000, Bytes: 5}}
	if got := withPoint(known, fact, &done); len(got) != 2 || got[1] != known[1] {
		t.Errorf("a clock that went back: %+v", got)
	}
	done.Done.Bytes = 1
	if got := withPoint(known, fact, &done); len(got) != 0 {
		t.Errorf("another attempt: %+v", got)
	}
}

// TestLiveAfterATargetHasEnded checks that the time of the live points advances while one target still writes its
// layout. The remaining time is computed from these points.
func TestLiveAfterATargetHasEnded(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "00-layout", Attempt: 1, StartTime: &metav1.MicroTime{Time: start}}}
	does := func(target string, seconds time.Duration, bytes uint64) result.Doing {
		return result.Doing{Target: target, Done: measure.Counter{Bytes: bytes}, SinceNanoseconds: start.UnixNano(),
			UntilNanoseconds: start.Add(seconds * time.Second).UnixNano()}
	}
	planned := plan.Step{ID: "00-layout", Targets: []string{"a", "b"}}
	Live(run, planned, decide.Attempt{Step: "00-layout", Number: 1},
		[]result.Doing{does("a", 60, 36e9), does("b", 1800, 18e9)}, start.Add(1801*time.Second))
	points := run.Status.Live.Points
	if newest := points[len(points)-1]; newest.Milliseconds != 1_800_000 || newest.Bytes != 54e9 {
		t.Errorf("the newest point is %+v", newest)
	}
}
