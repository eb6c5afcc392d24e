package result_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

func steadyStep(seconds int) plan.Step {
	return plan.Step{ID: "01-steady", Phase: "steady", Kind: v1alpha1.PhaseSteady, Purpose: plan.Measure, Targets: []string{"data"},
		Duration: time.Duration(seconds) * time.Second, Cell: -1}
}

// loaded returns two clients whose combined rate, in operations of 64 KiB per second, is a function of time.
func loaded(seconds int, rate func(second float64) float64) []result.Client {
	var clients []result.Client
	for i := range 2 {
		client := builders.Client("data", i).WarmUp(3, measure.Write, builders.Counter(5000, 65536))
		for second := range seconds {
			client.Sample(time.Second, measure.Write, builders.Counter(uint64(rate(float64(second))/2), 65536), ms)
		}
		clients = append(clients, client.Obj())
	}
	return clients
}

func TestSteady(t *testing.T) {
	level := func(float64) float64 { return 1000 }
	for name, test := range map[string]struct {
		seconds  int
		rate     func(float64) float64
		empty    bool
		assessed bool
		steady   bool
		warning  v1alpha1.WarningType
		says     string
	}{
		"steady and empty":    {seconds: 360, rate: level, empty: true, assessed: true, steady: true},
		"steady in the burst": {seconds: 360, rate: level, assessed: true, steady: true, warning: v1alpha1.WarningSteadyInBurst, says: "steady, but the burst credits may not be spent yet"},
		"four minutes":        {seconds: 240, rate: level, empty: true, warning: v1alpha1.WarningNotAssessed, says: "4m0s measured; steady state needs five minutes without gaps"},
		"a minute that collapses": {seconds: 60, rate: func(s float64) float64 {
			if s < 20 {
				return 2000
			}
			return 40
		}, empty: true, warning: v1alpha1.WarningNotAssessed,
			says: "the rate varied so much that its mean is imprecise; the rate fell from 131.1 MB/s in the first quarter to 2.621 MB/s in the last"},
		"it falls all the way": {seconds: 360, rate: func(s float64) float64 { return 1000 - 1.5*s }, empty: true, assessed: true, warning: v1alpha1.WarningNotSteady, says: "the rate was still falling, by 52.6 % of its mean in the last five minutes (limit for steady state: 10 %)"},
		"it rises":             {seconds: 360, rate: func(s float64) float64 { return 1000 + s }, empty: true, assessed: true, warning: v1alpha1.WarningNotSteady, says: "still rising"},
		"two seconds":          {seconds: 2, rate: level, empty: true, warning: v1alpha1.WarningNotAssessed, says: "2s measured; steady state needs five minutes without gaps; no 95 % interval: only 2 samples"},
		"minutes differ": {seconds: 360, rate: func(s float64) float64 { return 1000 + 200*math.Sin(s/60*math.Pi) }, empty: true, assessed: true,
			warning: v1alpha1.WarningNotSteady, says: "the rate varied by"},
		"burst, then baseline": {seconds: 720, rate: func(s float64) float64 {
			if s < 360 {
				return 2000
			}
			return 1000
		}, assessed: true, warning: v1alpha1.WarningNotSteady, says: "the last five minutes were steady at 65.54 MB/s, but the overall mean is 98.30 MB/s"},
		"left at the end": {seconds: 420, rate: func(s float64) float64 {
			if s < 360 {
				return 1000
			}
			return 300
		}, empty: true, assessed: true, warning: v1alpha1.WarningNotSteady, says: "steady until 5m0s, but not at the end: the rate was still falling"},
	} {
		t.Run(name, func(t *testing.T) {
			got := result.Target(steadyStep(test.seconds), "data", loaded(test.seconds, test.rate), result.History{BucketEmpty: test.empty})
			state := got.SteadyState
			if state == nil || state.Assessed != test.assessed || (state.Steady != nil) != test.assessed || state.Rounds != int32(test.seconds/60) {
				t.Fatalf("%+v", state)
			}
			if test.assessed && *state.Steady != test.steady {
				t.Errorf("steady: %v", *state.Steady)
			}
			var want []v1alpha1.WarningType
			if test.warning != "" {
				want = append(want, test.warning)
			}
			wanted(t, got.Warnings, want)
			for _, warning := range got.Warnings {
				if warning.Type == test.warning && !strings.Contains(warning.Message, test.says) {
					t.Errorf("it says %q", warning.Message)
				}
			}
		})
	}
}

// TestIntervalHoldsTheRate checks that the 95 % interval is not too narrow. It draws series of 20 seconds with a known
// mean, a deviation of 10 % and correlated seconds. At a true miss rate of 5 %, more than 34 of 400 intervals miss the
// mean only once in a thousand tests.
func TestIntervalHoldsTheRate(t *testing.T) {
	const runs, seconds, mean, deviation, correlation, mostMissed = 400, 20, 50_000.0, 5_000.0, 0.5, 34
	random := rand.New(rand.NewPCG(1, 18))
	missed := 0
	for range runs {
		value := 0.0
		clients := loaded(seconds, func(second float64) float64 {
			share := correlation
			if second == 0 {
				share = 0 // start of another client
			}
			value = share*value + math.Sqrt(1-share*share)*deviation*random.NormFloat64()
			return mean + value
		})
		operation := result.Target(steadyStep(seconds), "data", clients, result.History{}).Operations[0]
		if operation.RateErrorPPM == nil {
			t.Fatal("no interval")
		}
		rate := float64(*operation.IOPSMilli) / 1000
		if math.Abs(rate-mean) > rate*float64(*operation.RateErrorPPM)/1e6 {
			missed++
		}
	}
	t.Logf("%d of %d intervals miss the rate", missed, runs)
	if missed > mostMissed {
		t.Errorf("%d of %d intervals miss the rate, at most %d may", missed, runs, mostMissed)
	}
}

// TestInFlight checks that no rate includes I/O that was in flight when the load ended, and that the result shows how
// long it took.
func TestInFlight(t *testing.T) {
	client := func(index int, tail time.Duration) *builders.ClientBuilder {
		// 320 MiB are in flight at the end, more than the store completes in a second.
		return builders.Client("data", index).Does(60, measure.Write, hundred, 10*ms).Sample(tail, measure.Write, builders.Counter(320, mebibyte), 300*ms)
	}
	got := result.Target(steadyStep(60), "data", objects(client(0, 2*time.Second), client(1, 3200*ms)), result.History{})
	if got.InFlightNanoseconds == nil || *got.InFlightNanoseconds != int64(3200*ms) {
		t.Errorf("in flight for %v", got.InFlightNanoseconds)
	}
	if got.WindowNanoseconds != int64(time.Minute) || *got.Operations[0].BytesPerSecond != 200*mebibyte {
		t.Errorf("%d bytes a second over %d", *got.Operations[0].BytesPerSecond, got.WindowNanoseconds)
	}
	if got.MeasuredNanoseconds != int64(120*time.Second+5200*ms) {
		t.Errorf("measured, as the basis of latencies, for %d", got.MeasuredNanoseconds)
	}
	if got := result.Target(stepOf(t, layingOut()), "data", objects(client(0, time.Second)), result.History{}); got.InFlightNanoseconds != nil {
		t.Errorf("a fixed amount of work has %d in flight", *got.InFlightNanoseconds)
	}
}

// TestFlushAfterTheLoad checks the warning about a long flush after a timed load, which then wrote only to the page
// cache. It does not apply to a fixed amount of work, whose time includes the flush.
func TestFlushAfterTheLoad(t *testing.T) {
	flushed := builders.Fio().BlockSize("1Mi").Buffered().FsyncAtEnd()
	for name, test := range map[string]struct {
		workload *builders.FioBuilder
		step     func() *builders.BenchmarkBuilder
		flush    time.Duration
		warns    bool
	}{
		"short":         {workload: flushed, step: writing, flush: 900 * ms},
		"long":          {workload: flushed, step: writing, flush: 20 * time.Second, warns: true},
		"of direct I/O": {workload: builders.Fio().BlockSize("1Mi").FsyncAtEnd(), step: writing, flush: 20 * time.Second},
		"of a layout":   {workload: flushed, step: layingOut, flush: 20 * time.Second},
	} {
		client := writer(0).Sample(test.flush, measure.Write, measure.Counter{}, 0)
		got := result.Target(stepOf(t, test.step().Workload(test.workload)), "data", objects(client), result.History{})
		if slices.Contains(types(got.Warnings), v1alpha1.WarningDirtyPages) != test.warns {
			t.Errorf("%s: warnings %v", name, got.Warnings)
		}
	}
}

// TestReadsInFlightAreNoFlush checks that reads in flight at the end of the load are not mistaken for a flush.
func TestReadsInFlightAreNoFlush(t *testing.T) {
	mixed := builders.Fio().BlockSize("1Mi").ReadPercent(50).Buffered().FsyncAtEnd()
	for late, warns := range map[time.Duration]bool{9 * time.Second: false, 12 * time.Second: true} {
		client := builders.Client("data", 0).Does(10, measure.Read, builders.Counter(5, mebibyte), 9*time.Second).
			Also(measure.Write, builders.Counter(5, mebibyte), ms).
			Sample(late, measure.Read, builders.Counter(32, mebibyte), 9*time.Second)
		got := result.Target(stepOf(t, reading(mixed)), "data", objects(client), result.History{})
		if slices.Contains(types(got.Warnings), v1alpha1.WarningDirtyPages) != warns {
			t.Errorf("%s after the load: warnings %v", late, got.Warnings)
		}
	}
}

// TestLayoutReused checks that it is not a failure if a layout writes nothing because the files already exist.
func TestLayoutReused(t *testing.T) {
	reused := func(index int) *builders.ClientBuilder {
		return builders.Client("data", index).Notice("LayoutReused", "4 files of 1 GiB were right already")
	}
	got := result.Target(stepOf(t, layingOut().Clients(2)), "data", objects(reused(0), reused(1)), result.History{})
	if len(got.Warnings) != 1 || got.Warnings[0].Type != "LayoutReused" || len(got.Operations) != 0 || got.Clients != 0 {
		t.Errorf("%+v", got)
	}
	got = result.Target(stepOf(t, layingOut().Clients(2)), "data", objects(reused(0), builders.Client("data", 1).Does(8, measure.Write, hundred, 10*ms)), result.History{})
	if got.Clients != 1 || len(got.Operations) != 1 || *got.Operations[0].BytesPerSecond != 100*mebibyte {
		t.Errorf("%+v", got)
	}
	for _, warning := range got.Warnings {
		if warning.Type == v1alpha1.WarningNoOperations || warning.Type == v1alpha1.WarningResultIncomplete {
			t.Errorf("%+v", warning)
		}
	}
}

// TestLostInADrain checks that the findings before the loss of a client are kept, and that the series ends with the
// loss: afterwards, the rate is only that of the other clients.
func TestLostInADrain(t *testing.T) {
	clients := scaled.drain(2, scaled.size, 400)
	lost := &clients[1]
	builders.MutateSamples(lost, func(all []measure.Sample) []measure.Sample { return all[:300] })
	lost.Ended, lost.Failure, lost.FailureMessage = false, v1alpha1.ReasonClientLost, "its process exited"
	lost.Operations = [measure.NumOperations]result.Operation{}
	clients[0].Stopped, clients[0].StopMessage = true, "a client was lost"
	got := result.Target(drainStep(3600), "data", clients, result.History{})
	if got.Burst == nil || !got.Burst.Exhausted || got.Clients != 1 {
		t.Fatalf("%+v", got)
	}
	near(t, "burst", got.Burst.Bytes.Burst, 260e6, 0.01)
	near(t, "baseline", got.Burst.Bytes.Baseline, 32e6, 0.01)
	if got.Warnings[0].Type != v1alpha1.WarningClientLost || got.Warnings[0].Severity != v1alpha1.SeverityDisqualifying {
		t.Errorf("%+v", got.Warnings)
	}
	segments := got.Burst.Bytes.Segments
	if end := segments[len(segments)-1].EndNanoseconds; end != int64(300*time.Second) {
		t.Errorf("it ends at %d, and the loss was at 300 s", end)
	}
}
