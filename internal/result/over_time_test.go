package result_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/builders"
)

// overTime returns the series of a step of ten seconds.
func overTime(clients ...result.Client) series.Target {
	step := plan.Step{ID: "00-write", Kind: v1alpha1.PhaseSteady, Purpose: plan.Measure, Duration: 10 * time.Second, Clients: len(clients)}
	return result.OverTime(step, "data", clients, result.History{})
}

func statesOf(points []series.Point) (count map[series.State]int) {
	count = map[series.State]int{}
	for _, p := range points {
		count[p.State]++
	}
	return count
}

// TestOverTime checks that the common window of two clients has a point per second, and that the times before and after
// it are transitions.
func TestOverTime(t *testing.T) {
	each := builders.Counter(100, 1000)
	one := builders.Client("data", 0).WarmUp(2, measure.Write, each).Does(10, measure.Write, each, time.Millisecond).Obj()
	two := builders.Client("data", 1).Later(600*time.Millisecond).WarmUp(2, measure.Write, each).Does(10, measure.Write, each, time.Millisecond).Obj()
	made := overTime(one, two)
	states := statesOf(made.Points)
	if states[series.Measured] < 9 || states[series.Measured] > 10 || states[series.WarmUp] < 2 || states[series.Transition] != 2 {
		t.Errorf("%v", states)
	}
	var before int64
	for i, p := range made.Points {
		if p.State == series.Measured && (p.OperationsPerSecond(measure.Write) < 199 || p.OperationsPerSecond(measure.Write) > 201) {
			t.Errorf("point %d: %v operations a second, want 200", i, p.OperationsPerSecond(measure.Write))
		}
		if p.StartNanoseconds < before {
			t.Errorf("point %d begins before the one before ends", i)
		}
		before = p.EndNanoseconds
	}
	if len(made.Clients) != 2 || made.Clients[1].Client != 1 || made.Clients[0].BytesPerSecond != 100_000 {
		t.Errorf("clients: %+v", made.Clients)
	}
	if len(made.Latency) != 1 || made.Latency[0].Operation != measure.Write || made.Latency[0].Bins[0].Count != 2000 {
		t.Errorf("latency: %+v", made.Latency)
	}
}

// TestOverTimeWithAGap checks that a second has no point if a client's sample is missing, because the sum would be too
// low.
func TestOverTimeWithAGap(t *testing.T) {
	each := builders.Counter(100, 1000)
	whole := builders.Client("data", 0).Does(10, measure.Write, each, time.Millisecond).Obj()
	gap := builders.Client("data", 1).Does(4, measure.Write, each, time.Millisecond).Later(2*time.Second).Does(4, measure.Write, each, time.Millisecond).Obj()
	made := overTime(whole, gap)
	if len(made.Points) != 8 || made.Points[4].StartNanoseconds-made.Points[3].EndNanoseconds != int64(2*time.Second) {
		t.Errorf("%d points: %+v", len(made.Points), made.Points)
	}
	for i, p := range made.Points {
		if p.OperationsPerSecond(measure.Write) != 200 {
			t.Errorf("point %d: %v", i, p.OperationsPerSecond(measure.Write))
		}
	}
}

// TestOverTimeInFlight checks that I/O completed after the end of the load is a transition, even with one client.
func TestOverTimeInFlight(t *testing.T) {
	made := overTime(builders.Client("data", 0).Does(11, measure.Read, builders.Counter(10, 4096), time.Millisecond).Obj())
	if states := statesOf(made.Points); states[series.Measured] != 10 || states[series.Transition] != 1 || made.Points[10].State != series.Transition || len(made.Clients) > 0 {
		t.Errorf("%v, clients %v", states, made.Clients)
	}
	if nothing := overTime(); len(nothing.Points) > 0 || len(nothing.Latency) > 0 {
		t.Errorf("%+v", nothing)
	}
}

// TestOverTimeJoinsAShortRemainder checks that a last sample of a few milliseconds becomes part of the point before it.
// On its own, a single operation would look like a rate of thousands.
func TestOverTimeJoinsAShortRemainder(t *testing.T) {
	made := overTime(builders.Client("data", 0).Does(9, measure.Read, builders.Counter(100, 4096), time.Millisecond).
		Sample(3*time.Millisecond, measure.Read, builders.Counter(32, 4096), time.Millisecond).Obj())
	if len(made.Points) != 9 {
		t.Fatalf("%d points: %+v", len(made.Points), made.Points)
	}
	if last := made.Points[8]; last.Seconds() != 1.003 || last.Counters[measure.Read] != builders.Counter(132, 4096) || last.State != series.Measured {
		t.Errorf("the last point is %+v", last)
	}
	// If no point precedes it, it is kept as a point.
	alone := overTime(builders.Client("data", 0).Sample(3*time.Millisecond, measure.Read, builders.Counter(32, 4096), time.Millisecond).Obj())
	if len(alone.Points) != 1 || alone.Points[0].Counters[measure.Read].Operations != 32 {
		t.Errorf("a step of 3 ms has %+v", alone.Points)
	}
}
