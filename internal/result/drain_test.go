package result_test

import (
	"math"
	"slices"
	"strings"
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

// bucket is a store with known limits, in MB and MB/s. Its rate is burst while credits last, and base afterwards.
type bucket struct{ burst, base, refill, size float64 }

// scaled is the FSx for Windows experiment, with all times divided by 60.
var scaled = bucket{burst: 260, base: 32, refill: 32, size: 228 * 100}

// seconds returns how long the given credits last.
func (b bucket) seconds(credits float64) float64 { return credits / (b.burst - b.refill) }

// drain returns what clients report when they load the store for a number of seconds, starting with the given credits.
// Their rates have a small, reproducible noise.
func (b bucket) drain(clients int, credits float64, seconds int) []result.Client {
	ends := b.seconds(credits)
	var all []result.Client
	for index := range clients {
		client := builders.Client("data", index)
		for second := range seconds {
			share := min(max(ends-float64(second), 0), 1)
			rate := (b.burst*share + b.base*(1-share)) / float64(clients) * (1 + 0.01*math.Sin(float64(second)*2.3+float64(index)))
			client.Sample(time.Second, measure.Write, builders.Counter(uint64(rate*1000), 1000), 10*ms)
		}
		all = append(all, client.Obj())
	}
	return all
}

func documentedOf(b bucket) limits.Computed { return limits.Declared(limitsOf(b)) }

func limitsOf(b bucket) *v1alpha1.Limits {
	quantity := func(megabytes float64) *resource.Quantity {
		return resource.NewQuantity(int64(megabytes*1e6), resource.DecimalSI)
	}
	return &v1alpha1.Limits{Throughput: &v1alpha1.RateLimits{
		Baseline: quantity(b.base), Burst: quantity(b.burst), Bucket: quantity(b.size), Refill: quantity(b.refill)}}
}

func drainStep(seconds int) plan.Step {
	return plan.Step{ID: "01-burst", Phase: "burst", Kind: v1alpha1.PhaseBurstDrain, Purpose: plan.Drain, Targets: []string{"data"},
		Duration: time.Duration(seconds) * time.Second, Cell: -1}
}

func redrainStep(seconds int) plan.Step {
	step := drainStep(seconds)
	step.ID, step.Phase, step.Kind, step.Redrain = "02-002-refill-drain", "refill", v1alpha1.PhaseCooldown, true
	return step
}

func full() *int32 { percent := int32(100); return &percent }

// near fails the test if the relative error of a figure exceeds share.
func near(t *testing.T, what string, got *v1alpha1.Estimate, want, share float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, not %g", what, want)
		return
	}
	if math.Abs(float64(got.Value)-want) > share*want {
		t.Errorf("%s is %d, not %g", what, got.Value, want)
	}
	if got.Lower != nil && (*got.Lower > got.Value || *got.Upper < got.Value) {
		t.Errorf("%s: %d is not from %d to %d", what, got.Value, *got.Lower, *got.Upper)
	}
}

func TestDrain(t *testing.T) {
	for name, test := range map[string]struct {
		store     bucket
		clients   int
		history   result.History
		dimension string
		source    string
		cause     string
		warnings  []v1alpha1.WarningType
	}{
		"nothing is known": {store: scaled, clients: 1, dimension: "Unknown", source: "Assumed", cause: "Unknown",
			warnings: []v1alpha1.WarningType{v1alpha1.WarningCreditsUnknown}},
		"four clients": {store: scaled, clients: 4, dimension: "Unknown", source: "Assumed", cause: "Unknown",
			warnings: []v1alpha1.WarningType{v1alpha1.WarningCreditsUnknown}},
		"documented": {store: scaled, clients: 2, history: result.History{Documented: documentedOf(scaled), CreditPercentAtStart: full()},
			dimension: "Bytes", source: "Assumed", cause: "Volume"},
		"a burst that is little above a baseline that is documented too low": {store: bucket{46, 40, 40, 600}, clients: 2,
			history:   result.History{Documented: documentedOf(bucket{65, 37.5, 37.5, 600}), CreditPercentAtStart: full()},
			dimension: "Bytes", source: "Assumed", cause: "Unknown"},
		"documented, refill below the baseline": {store: bucket{260, 32, 12, 24800}, clients: 2,
			history:   result.History{Documented: documentedOf(bucket{260, 32, 12, 24800}), CreditPercentAtStart: full()},
			dimension: "Bytes", source: "Documented", cause: "Volume"},
		"a refill that was measured": {store: bucket{260, 32, 12, 24800}, clients: 1,
			history:   result.History{MeasuredRefill: pointerTo(12e6), CreditPercentAtStart: full()},
			dimension: "Unknown", source: "Measured", cause: "Unknown"},
		"the baseline is 8 % off": {store: scaled, clients: 1,
			history:   result.History{Documented: documentedOf(bucket{260, 34.7, 32, 22800}), CreditPercentAtStart: full()},
			dimension: "Bytes", source: "Documented", cause: "Unknown"},
		"another baseline is documented": {store: scaled, clients: 1,
			history:   result.History{Documented: documentedOf(bucket{260, 64, 32, 22800}), CreditPercentAtStart: full()},
			dimension: "Unknown", source: "Documented", cause: "Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			got := result.Target(drainStep(600), "data", test.store.drain(test.clients, test.store.size, 600), test.history)
			burst := got.Burst
			if burst == nil || !burst.Exhausted || burst.Bytes == nil || len(burst.Bytes.Drops) != 1 {
				t.Fatalf("burst %+v, warnings %v", burst, got.Warnings)
			}
			near(t, "burst", burst.Bytes.Burst, test.store.burst*1e6, 0.005)
			near(t, "baseline", burst.Bytes.Baseline, test.store.base*1e6, 0.005)
			near(t, "time to baseline", burst.NanosecondsToBaseline, test.store.seconds(test.store.size)*1e9, 0.01)
			near(t, "spent", burst.Bytes.Drops[0].Spent, test.store.size*1e6, 0.01)
			near(t, "refill", burst.Bytes.Refill, test.store.refill*1e6, 0.01)
			near(t, "burst of operations", burst.Operations.Burst, test.store.burst*1e3*1e3, 0.005)
			near(t, "baseline of operations", burst.Operations.Baseline, test.store.base*1e3*1e3, 0.005)
			drop := burst.Bytes.Drops[0]
			if burst.Dimension != test.dimension || burst.Bytes.RefillSource != test.source || drop.Cause != test.cause ||
				drop.Confirmed != (test.cause == "Volume") {
				t.Errorf("dimension %s, refill %s, cause %s, confirmed %v", burst.Dimension, burst.Bytes.RefillSource, drop.Cause, drop.Confirmed)
			}
			wanted(t, got.Warnings, test.warnings)
		})
	}
}

// TestOtherCreditsRanOut checks a drain that ends because operation credits ran out. Its spent byte credits must be
// computed with the documented refill of bytes, although the rate of bytes happens to be close to its documented
// baseline.
func TestOtherCreditsRanOut(t *testing.T) {
	store := bucket{46, 40, 40, 600}
	declared := limitsOf(bucket{60, 41, 41, 2000})
	declared.IOPS = &v1alpha1.RateLimits{Baseline: resource.NewQuantity(40_000, resource.DecimalSI), Burst: resource.NewQuantity(60_000, resource.DecimalSI)}
	got := result.Target(drainStep(600), "data", store.drain(1, store.size, 600), result.History{Documented: limits.Declared(declared), CreditPercentAtStart: full()}).Burst
	if got.Dimension != "Operations" || got.Bytes.RefillSource != "Documented" || got.Operations.RefillSource != "Assumed" {
		t.Fatalf("dimension %s, refill of bytes %s, of operations %s", got.Dimension, got.Bytes.RefillSource, got.Operations.RefillSource)
	}
	near(t, "spent operations", got.Operations.Drops[0].Spent, 600e3, 0.01)
	near(t, "spent bytes", got.Bytes.Drops[0].Spent, 500e6, 0.02)
}

// TestLayoutBetweenTheBaselines checks that earlier I/O below the documented baseline spent no credits, even if it was
// faster than the measured baseline.
func TestLayoutBetweenTheBaselines(t *testing.T) {
	store := bucket{260, 30.5, 30.5, 22950}
	history := result.History{Documented: documentedOf(bucket{260, 32, 32, 22800}), Earlier: []result.Span{
		{Start: builders.Start.Add(-7201 * time.Second), End: builders.Start.Add(-time.Second), Bytes: 7200 * 31.5e6, Operations: 7200 * 31500}}}
	got := result.Target(drainStep(600), "data", store.drain(1, store.size, 600), history).Burst
	near(t, "spent", got.Bytes.Drops[0].Spent, store.size*1e6, 0.01)
}

// TestCauseOfADrop checks that a drop is attributed to the limit with the lowest documented baseline.
func TestCauseOfADrop(t *testing.T) {
	for layer, want := range map[limits.Layer]string{limits.LayerInstance: "Instance", limits.LayerFlow: "Instance",
		limits.LayerNetwork: "Server", limits.LayerDisk: "Volume", limits.LayerVolume: "Volume"} {
		documented := documentedOf(scaled)
		documented.Limits[0].Layer = layer
		documented.Limits = append(documented.Limits,
			limits.Limit{Name: "volume", Layer: limits.LayerVolume, Dimension: limits.Bytes, Baseline: 125e6, Units: 1})
		history := result.History{Documented: documented, CreditPercentAtStart: full()}
		got := result.Target(drainStep(600), "data", scaled.drain(1, scaled.size, 600), history)
		if drop := got.Burst.Bytes.Drops[0]; drop.Cause != want || !drop.Confirmed {
			t.Errorf("the cause of a drop to the baseline of layer %s is %s, confirmed %t", layer, drop.Cause, drop.Confirmed)
		}
	}
}

// wanted compares the types of warnings, ignoring TooFewSamples, which every short series has.
func wanted(t *testing.T, got []v1alpha1.Warning, want []v1alpha1.WarningType) {
	t.Helper()
	var kinds []v1alpha1.WarningType
	for _, warning := range got {
		if warning.Type != v1alpha1.WarningTooFewSamples {
			kinds = append(kinds, warning.Type)
		}
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("warnings %v, not %v", got, want)
	}
}

func TestDrainThatCountsOperations(t *testing.T) {
	declared := &v1alpha1.Limits{IOPS: &v1alpha1.RateLimits{Baseline: resource.NewQuantity(32_000, resource.DecimalSI)}}
	got := result.Target(drainStep(600), "data", scaled.drain(2, scaled.size, 600), result.History{Documented: limits.Declared(declared), CreditPercentAtStart: full()})
	if got.Burst.Dimension != "Operations" || !strings.Contains(got.Burst.Message, "the byte credits spent are only a lower bound") {
		t.Errorf("dimension %s: %s", got.Burst.Dimension, got.Burst.Message)
	}
	near(t, "spent operations", got.Burst.Operations.Drops[0].Spent, scaled.size*1e3, 0.01)
	if got.Burst.Operations.Drops[0].Cause != "Volume" || got.Burst.Bytes.Drops[0].Cause != "Unknown" {
		t.Errorf("causes %+v", got.Burst)
	}
}

// TestDrainAfterALayout checks that the size of the bucket takes into account what the layout spent and a pause
// restored.
func TestDrainAfterALayout(t *testing.T) {
	history := result.History{Documented: documentedOf(scaled), CreditPercentAtStart: pointerTo(int32(60)), Earlier: []result.Span{
		{Start: builders.Start.Add(-180 * time.Second), End: builders.Start.Add(-100 * time.Second), Bytes: 80 * 152e6, Operations: 1},
	}}
	left := scaled.size - 80*(152-32) + 100*32
	got := result.Target(drainStep(600), "data", scaled.drain(1, left, 600), history)
	near(t, "spent", got.Burst.Bytes.Drops[0].Spent, scaled.size*1e6, 0.01)
	wanted(t, got.Warnings, []v1alpha1.WarningType{v1alpha1.WarningCreditsUnknown})
	if !strings.Contains(got.Warnings[0].Message, "60 %") {
		t.Error(got.Warnings[0].Message)
	}
}

func TestDrainWithoutADrop(t *testing.T) {
	for name, test := range map[string]struct {
		history  result.History
		atLeast  float64
		warnings []v1alpha1.WarningType
	}{
		"nothing is known": {warnings: []v1alpha1.WarningType{v1alpha1.WarningNoDropSeen, v1alpha1.WarningCreditsUnknown}},
		"documented": {history: result.History{Documented: documentedOf(scaled), CreditPercentAtStart: full()}, atLeast: 50 * 228e6,
			warnings: []v1alpha1.WarningType{v1alpha1.WarningRunTooShort}},
		"a load below the refill": {history: result.History{Documented: documentedOf(bucket{800, 400, 400, 22800}), CreditPercentAtStart: full()},
			warnings: []v1alpha1.WarningType{v1alpha1.WarningRunTooShort, v1alpha1.WarningNoDropSeen}},
		"spent before": {history: result.History{BucketEmpty: true}, warnings: []v1alpha1.WarningType{v1alpha1.WarningNoDropSeen}},
	} {
		t.Run(name, func(t *testing.T) {
			got := result.Target(drainStep(50), "data", scaled.drain(1, scaled.size, 50), test.history)
			if got.Burst.Exhausted || got.Burst.NanosecondsToBaseline != nil || got.Burst.Bytes.Baseline != nil || got.Burst.Dimension != "Unknown" {
				t.Errorf("%+v", got.Burst)
			}
			var least *v1alpha1.Estimate
			if got.Burst.Bytes.BucketAtLeast != nil {
				least = &v1alpha1.Estimate{Value: *got.Burst.Bytes.BucketAtLeast}
			}
			if test.atLeast > 0 {
				near(t, "bucket at least", least, test.atLeast, 0.01)
			} else if least != nil {
				t.Errorf("the bucket is at least %d", least.Value)
			}
			slices.Sort(test.warnings)
			slices.SortFunc(got.Warnings, func(a, b v1alpha1.Warning) int { return strings.Compare(string(a.Type), string(b.Type)) })
			wanted(t, got.Warnings, test.warnings)
		})
	}
}

// TestDrainOfAnEmptyBucket checks that a drain without credits claims nothing about the size of the bucket. The bucket
// of a redrain must not be called empty, because credits came back before it.
func TestDrainOfAnEmptyBucket(t *testing.T) {
	for name, store := range map[string]bucket{
		"refill is the baseline": scaled,
		"refill below it":        {260, 32, 12, 24800},
	} {
		t.Run(name, func(t *testing.T) {
			history := result.History{BucketEmpty: true, Documented: documentedOf(store)}
			got := result.Target(drainStep(300), "data", store.drain(1, 0, 300), history)
			if got.Burst.Exhausted || got.Burst.Bytes.BucketAtLeast != nil || got.Burst.Message != "" {
				t.Errorf("%+v", got.Burst)
			}
			wanted(t, got.Warnings, []v1alpha1.WarningType{v1alpha1.WarningNoDropSeen})
		})
	}
	end := builders.Start.Add(-500 * time.Second)
	got := result.Target(redrainStep(60), "data", scaled.drain(1, scaled.size, 60), result.History{BucketEmpty: true,
		Earlier: []result.Span{{Start: end.Add(-300 * time.Second), End: end, Bytes: 3e10, Operations: 3e7}}})
	wanted(t, got.Warnings, []v1alpha1.WarningType{v1alpha1.WarningNoDropSeen})
	for _, warning := range got.Warnings {
		if strings.Contains(warning.Message, "already spent at the start") {
			t.Errorf("a redrain: %s", warning.Message)
		}
	}
}

// TestDrainAtTheBaseline checks that a rate at the baseline from the start is no evidence of credits, even if it
// exceeds the refill. A rate slightly above the baseline is.
func TestDrainAtTheBaseline(t *testing.T) {
	store, flat := bucket{65, 8, 4, 1220}, bucket{34, 32, 12, 24800}
	measured := result.History{MeasuredRefill: pointerTo(4e6),
		DrainSpent: &result.Spent{Amount: 1220e6, Refill: 4e6, Burst: 65e6, Baseline: 8e6}}
	for name, test := range map[string]struct {
		store   bucket
		credits float64
		history result.History
		atLeast float64
		warning v1alpha1.WarningType
	}{
		"documented": {store: store, history: result.History{Documented: documentedOf(store)},
			warning: v1alpha1.WarningNoDropSeen},
		"measured": {store: store, history: measured, warning: v1alpha1.WarningNoDropSeen},
		"a burst near the baseline": {store: flat, credits: flat.size,
			history: result.History{Documented: documentedOf(flat)}, atLeast: 600 * 22e6,
			warning: v1alpha1.WarningRunTooShort},
		"no credits, a burst near the baseline": {store: flat,
			history: result.History{Documented: documentedOf(flat)}, warning: v1alpha1.WarningNoDropSeen},
	} {
		t.Run(name, func(t *testing.T) {
			test.history.CreditPercentAtStart = full()
			got := result.Target(drainStep(600), "data", test.store.drain(1, test.credits, 600), test.history)
			least := 0.0
			if found := got.Burst.Bytes.BucketAtLeast; found != nil {
				least = float64(*found)
			}
			if math.Abs(least-test.atLeast) > 0.01*test.atLeast {
				t.Errorf("the bucket is at least %g, want %g", least, test.atLeast)
			}
			wanted(t, got.Warnings, []v1alpha1.WarningType{test.warning})
		})
	}
}

// TestRedrain checks that a redrain measures a refill below, at or above the baseline, and that the message explains
// what limits the measurement.
func TestRedrain(t *testing.T) {
	const idle = 500.0
	for name, test := range map[string]struct {
		store   bucket
		clients int
		history result.History
		filled  float64 // credits at the start of the redrain; 0 means as many as the refill brought back
		refill  float64 // 0 if it cannot be measured
		says    string
	}{
		"refill is the baseline": {store: scaled, clients: 1, history: result.History{BucketEmpty: true}, refill: 32},
		"refill below it":        {store: bucket{260, 32, 12, 24800}, clients: 4, history: result.History{BucketEmpty: true}, refill: 12},
		"refill above it":        {store: bucket{260, 32, 50, 21000}, clients: 2, history: result.History{BucketEmpty: true}, refill: 50},
		"documented otherwise":   {store: bucket{260, 32, 24, 24800}, clients: 1, history: result.History{BucketEmpty: true, Documented: documentedOf(scaled)}, refill: 24},
		"not full, above a baseline that is documented too low": {store: bucket{46, 40, 40, 25000}, clients: 1,
			history: result.History{BucketEmpty: true, Documented: documentedOf(bucket{65, 37.5, 37.5, 25000})}, refill: 40},
		"not known to be empty": {store: scaled, clients: 1, says: "may not have been empty"},
		"measured by an earlier phase": {store: scaled, clients: 1, history: result.History{MeasuredRefill: pointerTo(5.3e6)},
			says: "may not have been empty"},
		"full again, documented": {store: bucket{260, 32, 32, 5000}, clients: 1, filled: 5000,
			history: result.History{BucketEmpty: true, Documented: documentedOf(bucket{260, 32, 32, 5000})}, refill: 5000 * (1 + 32/228.0) / (idle + 5000/228.0), says: "according to its documented size, the bucket was full again"},
		"full again, as in the first drain": {store: bucket{260, 32, 32, 5000}, clients: 1, filled: 5000,
			history: result.History{BucketEmpty: true, DrainSpent: &result.Spent{Amount: 5000e6, Refill: 32e6}}, refill: 5000 * (1 + 32/228.0) / (idle + 5000/228.0), says: "this drain spent as much as the first"},
	} {
		t.Run(name, func(t *testing.T) {
			credits := test.filled
			if credits == 0 {
				credits = test.store.refill * idle
			}
			end := builders.Start.Add(-time.Duration(idle) * time.Second)
			test.history.Earlier = []result.Span{{Start: end.Add(-300 * time.Second), End: end, Bytes: 3e10, Operations: 3e7}}
			seconds := int(3 * test.store.seconds(credits))
			got := result.Target(redrainStep(seconds), "data", test.store.drain(test.clients, credits, seconds), test.history)
			burst := got.Burst
			if burst == nil || !burst.Exhausted || burst.IdleNanoseconds == nil || *burst.IdleNanoseconds != int64(idle*1e9) {
				t.Fatalf("%+v", burst)
			}
			if !strings.Contains(burst.Message, test.says) || test.says == "" && strings.Contains(burst.Message, "full again") {
				t.Errorf("it says %q", burst.Message)
			}
			if test.refill == 0 {
				if burst.Bytes.RefillSource == "Measured" {
					t.Errorf("refill %+v", burst.Bytes.Refill)
				}
				return
			}
			near(t, "refill", burst.Bytes.Refill, test.refill*1e6, 0.01)
			// The refill must be as uncertain as the amount that it is computed from.
			refill, spent := burst.Bytes.Refill, burst.Bytes.Drops[0].Spent
			whole := idle + float64(burst.NanosecondsToBaseline.Value)/1e9
			if refill.Lower != nil && spent.Lower != nil &&
				(float64(refill.Value-*refill.Lower)*whole < 0.6*float64(spent.Value-*spent.Lower)-whole ||
					float64(*refill.Upper-refill.Value)*whole < 0.6*float64(*spent.Upper-spent.Value)-whole) {
				t.Errorf("the refill is %d (%d to %d), the amount %d (%d to %d) over %g s", refill.Value, *refill.Lower, *refill.Upper, spent.Value, *spent.Lower, *spent.Upper, whole)
			}
			if burst.Bytes.RefillSource != "Measured" || burst.Bytes.Refill.Lower == nil {
				t.Errorf("refill is %s, %+v", burst.Bytes.RefillSource, burst.Bytes.Refill)
			}
			// The redrain spends what came back in the pause.
			near(t, "spent", burst.Bytes.Drops[0].Spent, test.refill*idle*1e6, 0.015)
		})
	}
}

// TestShortBurst checks that the figures of a burst of a few seconds do not depend on how long the drain continues, and
// that the message mentions a fast start that is too short to be a burst.
func TestShortBurst(t *testing.T) {
	store := bucket{60, 8, 8, 900}
	for _, seconds := range []int{60, 142, 180, 600, 3600} {
		got := result.Target(drainStep(seconds), "data", store.drain(2, store.size, seconds), result.History{CreditPercentAtStart: full()})
		if got.Burst == nil || !got.Burst.Exhausted {
			t.Errorf("%d s: %+v", seconds, got.Burst)
			continue
		}
		near(t, "burst", got.Burst.Bytes.Burst, 60e6, 0.01)
		near(t, "baseline", got.Burst.Bytes.Baseline, 8e6, 0.01)
		near(t, "time to baseline", got.Burst.NanosecondsToBaseline, store.seconds(store.size)*1e9, 0.01)
		near(t, "spent", got.Burst.Bytes.Drops[0].Spent, store.size*1e6, 0.01)
	}
	got := result.Target(drainStep(180), "data", store.drain(1, 80, 180), result.History{CreditPercentAtStart: full()})
	if got.Burst.Exhausted || !strings.HasPrefix(got.Burst.Message, "the first 2 s averaged 48.13 MB/s and the rest 8.000 MB/s: a spike, or a burst") {
		t.Errorf("a burst of 1.5 s: %+v", got.Burst)
	}
}

// TestShortRedrain checks that a redrain finds a burst that is so short that a long series would treat it as an
// outlier.
func TestShortRedrain(t *testing.T) {
	const idle = 60.0
	for _, seconds := range []int{30, 60, 120, 300, 900} {
		end := builders.Start.Add(-time.Duration(idle) * time.Second)
		history := result.History{BucketEmpty: true, Earlier: []result.Span{{Start: end.Add(-300 * time.Second), End: end, Bytes: 3e10, Operations: 3e7}}}
		got := result.Target(redrainStep(seconds), "data", scaled.drain(2, scaled.refill*idle, seconds), history).Burst
		if !got.Exhausted {
			t.Errorf("%d s: %+v", seconds, got)
			continue
		}
		near(t, "refill", got.Bytes.Refill, 32e6, 0.01)
		near(t, "baseline", got.Bytes.Baseline, 32e6, 0.01)
		// There is no burst to find without credits, whether or not the bucket is known to have been empty before.
		for _, other := range []result.History{{Earlier: history.Earlier}, {BucketEmpty: true, Earlier: history.Earlier}} {
			clients := scaled.drain(2, 0, seconds)
			if got := result.Target(redrainStep(seconds), "data", clients, other).Burst; got.Exhausted {
				t.Errorf("%d s without credits: %+v", seconds, got)
			}
		}
	}
}

// TestConclusion checks that a drain is complete if the operator stopped its clients early because enough was measured,
// and that no figure includes I/O completed afterwards.
func TestConclusion(t *testing.T) {
	clients := scaled.drain(2, scaled.size, 240)
	concluded := builders.Start.Add(238 * time.Second)
	for i := range clients {
		clients[i].Stopped, clients[i].StopMessage = true, "enough was measured"
	}
	got := result.Target(drainStep(3600), "data", clients, result.History{Concluded: concluded, CreditPercentAtStart: full(), Documented: documentedOf(scaled)})
	wanted(t, got.Warnings, nil)
	if got.InFlightNanoseconds == nil || *got.InFlightNanoseconds != int64(2*time.Second) {
		t.Errorf("in flight for %v", got.InFlightNanoseconds)
	}
	if got.WindowNanoseconds != int64(238*time.Second) {
		t.Errorf("the window is %d", got.WindowNanoseconds)
	}
	got = result.Target(drainStep(3600), "data", clients, result.History{CreditPercentAtStart: full(), Documented: documentedOf(scaled)})
	wanted(t, got.Warnings, []v1alpha1.WarningType{v1alpha1.WarningResultIncomplete})
	if got.InFlightNanoseconds != nil {
		t.Errorf("in flight for %d, although the end of the load is unknown", *got.InFlightNanoseconds)
	}
}

func pointerTo[T any](value T) *T { return &value }
