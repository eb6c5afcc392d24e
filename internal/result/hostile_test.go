package result_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// someone returns a client that may report any values.
func someone(random *rand.Rand, index int) result.Client {
	extremes := []uint64{0, 1, 1000, 1 << 20, 1 << 40, 1 << 62, math.MaxInt64, math.MaxUint64}
	number := func() uint64 { return extremes[random.IntN(len(extremes))] }
	client := builders.Client("data", index).Obj()
	at := builders.Start.UnixNano()
	var samples []measure.Sample
	for range random.IntN(12) {
		sample := measure.Sample{StartNanoseconds: at, EndNanoseconds: at + int64(random.IntN(3000))*int64(time.Millisecond), WarmUp: random.IntN(5) == 0}
		switch random.IntN(12) {
		case 0:
			sample.StartNanoseconds = int64(number())
		case 1:
			sample.EndNanoseconds = -int64(number())
		case 2:
			sample.StartNanoseconds -= int64(random.IntN(2000)) * int64(time.Millisecond)
		}
		at = sample.EndNanoseconds
		for operation := range sample.Counters {
			if random.IntN(3) == 0 {
				sample.Counters[operation] = measure.Counter{Bytes: number(), Operations: number()}
			}
		}
		samples = append(samples, sample)
	}
	client.Samples = slices.Values(samples)
	for operation := range client.Operations {
		if random.IntN(2) == 0 {
			continue
		}
		total := &client.Operations[operation]
		total.Counter = measure.Counter{Bytes: number(), Operations: number()}
		total.Latency.AddNanoseconds(number(), number())
		total.SubmissionMeanNanoseconds = int64(number())
	}
	client.Ended, client.Stopped = random.IntN(6) > 0, random.IntN(6) == 0
	client.UnwrittenBytes, client.MemoryBytes = number(), number()
	client.ClockUncertainty = time.Duration(number())
	client.CPU = result.CPU{Busy: time.Duration(number()), Wall: time.Duration(number()), LimitMilli: int64(number()),
		Periods: number(), ThrottledPeriods: number(), Throttled: time.Duration(number())}
	client.Machine = []string{"", "one", "two"}[random.IntN(3)]
	client.Notices = []result.Notice{{Warning: string(v1alpha1.WarningTypes()[random.IntN(10)]), Message: "x"}, {Warning: "\x00"}}
	return client
}

// TestWhateverClientsReport checks that no figure is negative and that the result stays within the API's bounds,
// whatever clients report.
func TestWhateverClientsReport(t *testing.T) {
	for _, benchmark := range []*builders.BenchmarkBuilder{writing(), layingOut(), reading(builders.Fio().Buffered().Reads())} {
		step := stepOf(t, benchmark)
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 1))
			var clients []result.Client
			for i := range random.IntN(6) {
				clients = append(clients, someone(random, i))
			}
			got := result.Target(step, "data", clients, result.History{})
			for _, operation := range got.Operations {
				figures := []int64{operation.Bytes, operation.Operations}
				for _, rate := range []*int64{operation.BytesPerSecond, operation.IOPSMilli} {
					if rate != nil {
						figures = append(figures, *rate)
					}
				}
				if l := operation.Latency; l != nil {
					figures = append(figures, l.Samples, l.MeanNanoseconds, l.MinNanoseconds, l.MaxNanoseconds)
				}
				for _, figure := range figures {
					if figure < 0 {
						t.Fatalf("seed %d: %s has a negative figure: %+v", seed, operation.Operation, operation)
					}
				}
			}
			if got.WindowNanoseconds < 0 || got.MeasuredNanoseconds < 0 || got.TailNanoseconds != nil && *got.TailNanoseconds < 0 {
				t.Fatalf("seed %d: a time is negative: %+v", seed, got)
			}
			if int(got.Clients) > len(clients) || len(got.Warnings) > 32 {
				t.Fatalf("seed %d: %d clients of %d, %d warnings", seed, got.Clients, len(clients), len(got.Warnings))
			}
		}
	}
}

// TestWhateverHappenedBefore does the same for drains, redrains and steady phases after an arbitrary history, and
// checks that every interval contains its value.
func TestWhateverHappenedBefore(t *testing.T) {
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 2))
		step := drainStep(random.IntN(4) * 200)
		switch random.IntN(3) {
		case 0:
			step = redrainStep(random.IntN(4) * 200)
		case 1:
			step = steadyStep(random.IntN(4) * 200)
		}
		clients := scaled.drain(1+random.IntN(3), scaled.size*random.Float64(), 1+random.IntN(400))
		for i := range random.IntN(3) {
			clients = append(clients, someone(random, len(clients)+i))
		}
		history := somewhen(random)
		got := result.Target(step, "data", clients, history)
		proper(t, seed, got)
		var into v1alpha1.TargetResult
		phase := &v1alpha1.Phase{Cooldown: &v1alpha1.CooldownPhase{}}
		idle := plan.Step{Kind: v1alpha1.PhaseCooldown, Purpose: plan.Idle, UntilCreditsPercent: random.IntN(200), Cell: -1}
		result.Fold(phase, &into, idle, history, result.Cooldown(idle, "data", history, builders.Start, builders.Start.Add(time.Duration(random.Int64()))))
		result.Fold(phase, &into, step, history, got)
		if into.Cooldown == nil && step.Kind == v1alpha1.PhaseCooldown || into.Cooldown != nil && into.Cooldown.IdleNanoseconds < 0 {
			t.Fatalf("seed %d: %+v", seed, into.Cooldown)
		}
	}
}

func somewhen(random *rand.Rand) result.History {
	number := func() *float64 {
		values := []float64{0, -1, 1, 32e6, 1e18, 1e300, math.Inf(1), math.NaN()}
		return &values[random.IntN(len(values))]
	}
	percent := int32(random.IntN(300) - 100)
	history := result.History{BucketEmpty: random.IntN(2) == 0, CreditPercentAtStart: &percent}
	for range random.IntN(4) {
		at := builders.Start.Add(time.Duration(random.Int64N(2e12) - 1e12))
		history.Earlier = append(history.Earlier, result.Span{Start: at, End: at.Add(time.Duration(random.Int64N(1e12) - 1e11)),
			Bytes: random.Uint64(), Operations: random.Uint64()})
	}
	if random.IntN(2) == 0 {
		history.MeasuredRefill, history.MeasuredRefillOperations = number(), number()
	}
	if random.IntN(2) == 0 {
		history.DrainSpent, history.MeasuredBucket = &result.Spent{Amount: *number(), Refill: *number()}, *number()
	}
	if random.IntN(2) == 0 {
		declared := limitsOf(scaled)
		declared.IOPS = &v1alpha1.RateLimits{Bucket: resource.NewQuantity(-5, resource.DecimalSI)}
		history.Documented = limits.Declared(declared)
	}
	if random.IntN(3) == 0 {
		history.Concluded = builders.Start.Add(time.Duration(random.Int64N(1e12) - 2e11))
	}
	return history
}

// proper checks that the time in flight, the steady state and the burst of a result satisfy the API.
func proper(t *testing.T, seed uint64, got v1alpha1.TargetResult) {
	t.Helper()
	if got.InFlightNanoseconds != nil && *got.InFlightNanoseconds < 0 {
		t.Fatalf("seed %d: in flight for %d", seed, *got.InFlightNanoseconds)
	}
	if s := got.SteadyState; s != nil && (s.Rounds < 0 || s.Assessed != (s.Steady != nil)) {
		t.Fatalf("seed %d: %+v", seed, s)
	}
	if got.Burst == nil {
		return
	}
	if len([]rune(got.Burst.Message)) > 512 || got.Burst.IdleNanoseconds != nil && *got.Burst.IdleNanoseconds <= 0 {
		t.Fatalf("seed %d: %+v", seed, got.Burst)
	}
	estimates := []*v1alpha1.Estimate{got.Burst.NanosecondsToBaseline}
	for _, series := range []*v1alpha1.BurstSeries{got.Burst.Bytes, got.Burst.Operations} {
		if series == nil {
			continue
		}
		estimates = append(estimates, series.Burst, series.Sustained, series.Peak, series.Baseline, series.Refill)
		for _, drop := range series.Drops {
			estimates = append(estimates, &drop.AtNanoseconds, &drop.Before, &drop.After, drop.Spent)
		}
		for _, segment := range series.Segments {
			estimates = append(estimates, &segment.Mean)
			if segment.EndNanoseconds < segment.StartNanoseconds || segment.StartNanoseconds < 0 || segment.Deviation < 0 {
				t.Fatalf("seed %d: %+v", seed, segment)
			}
		}
		if len(series.Segments) > 32 || len(series.Drops) > 16 || (series.Refill == nil) != (series.RefillSource == "") {
			t.Fatalf("seed %d: %+v", seed, series)
		}
	}
	for _, e := range estimates {
		if e != nil && (e.Value < 0 || e.Value == math.MaxInt64 || e.Lower != nil && (*e.Lower > e.Value || *e.Lower < 0 || *e.Upper < e.Value)) {
			t.Fatalf("seed %d: %d from %v to %v", seed, e.Value, e.Lower, e.Upper)
		}
	}
}
