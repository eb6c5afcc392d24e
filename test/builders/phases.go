package builders

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Precondition sets how often the last phase, which must be a prepare phase, overwrites the data.
func (b *BenchmarkBuilder) Precondition(passes int32) *BenchmarkBuilder {
	b.last().Prepare.Precondition = &passes
	return b
}

// EndWhenSteady allows the last phase, which must be steady, to end early.
func (b *BenchmarkBuilder) EndWhenSteady() *BenchmarkBuilder {
	yes := true
	b.last().Steady.EndWhenSteady = &yes
	return b
}

// BurstDrain adds a phase that loads until the credits are spent.
func (b *BenchmarkBuilder) BurstDrain(name string, least, most v1alpha1.Duration) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, BurstDrain: &v1alpha1.BurstDrainPhase{MinDuration: least, MaxDuration: most}})
}

// Cooldown adds a phase that idles for a duration.
func (b *BenchmarkBuilder) Cooldown(name string, length v1alpha1.Duration) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Cooldown: &v1alpha1.CooldownPhase{Duration: &length}})
}

// UntilCredits adds a phase that idles until the bucket is full to the given percentage.
func (b *BenchmarkBuilder) UntilCredits(name string, percent int32) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Cooldown: &v1alpha1.CooldownPhase{UntilCredits: &v1alpha1.UntilCredits{Percent: percent}}})
}

// Redrain adds a phase that idles and drains again.
func (b *BenchmarkBuilder) Redrain(name string, idle v1alpha1.Duration) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Cooldown: &v1alpha1.CooldownPhase{Redrain: &v1alpha1.Redrain{Idle: idle}}})
}

// AtMost sets the maximum duration of the last phase, which must be a cooldown.
func (b *BenchmarkBuilder) AtMost(length v1alpha1.Duration) *BenchmarkBuilder {
	b.last().Cooldown.MaxDuration = &length
	return b
}

// Ramp adds a phase that raises one dimension of the load step by step.
func (b *BenchmarkBuilder) Ramp(name string, dimension v1alpha1.RampDimension, each v1alpha1.Duration, values ...int64) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Ramp: &v1alpha1.RampPhase{
		Dimension: dimension, Steps: values, StepDuration: each, WarmUp: "0s"}})
}

// Sweep adds a phase with a step for each combination of the axes.
func (b *BenchmarkBuilder) Sweep(name string, regime v1alpha1.Regime, each v1alpha1.Duration, axes v1alpha1.SweepAxes) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Sweep: &v1alpha1.SweepPhase{
		Axes: axes, Regime: regime, StepDuration: each, WarmUp: "0s"}})
}

// BlockSizes returns an axis of a sweep.
func BlockSizes(sizes ...string) []resource.Quantity {
	var all []resource.Quantity
	for _, size := range sizes {
		all = append(all, resource.MustParse(size))
	}
	return all
}

// Throughput documents throughput limits of the last target. Without a refill, the refill is the baseline.
func (b *BenchmarkBuilder) Throughput(baseline, burst, bucket, refill string) *BenchmarkBuilder {
	limits := &v1alpha1.RateLimits{}
	for _, one := range []struct {
		text string
		into **resource.Quantity
	}{{baseline, &limits.Baseline}, {burst, &limits.Burst}, {bucket, &limits.Bucket}, {refill, &limits.Refill}} {
		if one.text != "" {
			quantity := resource.MustParse(one.text)
			*one.into = &quantity
		}
	}
	targets := b.benchmark.Spec.Run.Targets
	last := &targets[len(targets)-1]
	if last.Documented == nil {
		last.Documented = &v1alpha1.Limits{}
	}
	last.Documented.Throughput = limits
	return b
}

// Preset documents the limits of the last target with a preset, for the given capacity.
func (b *BenchmarkBuilder) Preset(name, capacity string) *BenchmarkBuilder {
	targets := b.benchmark.Spec.Run.Targets
	targets[len(targets)-1].Documented = &v1alpha1.Limits{Preset: name, Capacity: new(resource.MustParse(capacity))}
	return b
}
