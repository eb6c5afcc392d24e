package builders

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// BenchmarkBuilder builds a StorageBenchmark.
type BenchmarkBuilder struct {
	benchmark v1alpha1.StorageBenchmark
}

// Benchmark returns a builder with the defaults of the API server and the workload that Fio returns. The benchmark is
// valid once it has a target and a phase.
func Benchmark(name string) *BenchmarkBuilder {
	restarts := int32(2)
	return &BenchmarkBuilder{benchmark: v1alpha1.StorageBenchmark{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "StorageBenchmark"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{Run: v1alpha1.RunSpec{
			Clients: v1alpha1.Clients{
				Count: 1, Spread: v1alpha1.SpreadAny, ProcessesPerClient: 1,
				OnLoss: v1alpha1.OnLossRestartStep, MaxRestarts: &restarts,
			},
			Workload:       Fio().Workload(),
			StartTimeout:   "10m",
			OrphanTimeout:  "1h",
			ActiveDeadline: "48h",
		}},
	}}
}

// Obj returns a copy of the benchmark.
func (b *BenchmarkBuilder) Obj() *v1alpha1.StorageBenchmark { return b.benchmark.DeepCopy() }

// Run returns a copy of the benchmark's spec.run.
func (b *BenchmarkBuilder) Run() *v1alpha1.RunSpec { return b.benchmark.Spec.Run.DeepCopy() }

// Mutate applies a change for which the builder has no method.
func (b *BenchmarkBuilder) Mutate(change func(*v1alpha1.RunSpec)) *BenchmarkBuilder {
	change(&b.benchmark.Spec.Run)
	return b
}

// Objectives adds objectives.
func (b *BenchmarkBuilder) Objectives(all ...v1alpha1.Objective) *BenchmarkBuilder {
	b.benchmark.Spec.Objectives = append(b.benchmark.Spec.Objectives, all...)
	return b
}

// Target adds a target with one volume.
func (b *BenchmarkBuilder) Target(name string) *BenchmarkBuilder {
	run := &b.benchmark.Spec.Run
	run.Targets = append(run.Targets, v1alpha1.Target{
		Name:       name,
		Volumes:    []v1alpha1.Volume{{Name: "data", ClaimName: name}},
		DataPolicy: v1alpha1.DataDelete,
	})
	return b
}

// Retain sets the data policy of the last target to Retain.
func (b *BenchmarkBuilder) Retain() *BenchmarkBuilder {
	targets := b.benchmark.Spec.Run.Targets
	targets[len(targets)-1].DataPolicy = v1alpha1.DataRetain
	return b
}

// Clients sets the number of clients of each target.
func (b *BenchmarkBuilder) Clients(count int32) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Clients.Count = count
	return b
}

// OnLoss sets the policy for lost clients and the maximum number of restarts.
func (b *BenchmarkBuilder) OnLoss(policy v1alpha1.OnLoss, maxRestarts int32) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Clients.OnLoss = policy
	b.benchmark.Spec.Run.Clients.MaxRestarts = &maxRestarts
	return b
}

// ActiveDeadline sets the time limit of the run.
func (b *BenchmarkBuilder) ActiveDeadline(length v1alpha1.Duration) *BenchmarkBuilder {
	b.benchmark.Spec.Run.ActiveDeadline = length
	return b
}

// StartTimeout sets the time limit for clients to become ready.
func (b *BenchmarkBuilder) StartTimeout(length v1alpha1.Duration) *BenchmarkBuilder {
	b.benchmark.Spec.Run.StartTimeout = length
	return b
}

// Workload sets the default workload of the run. nil removes it.
func (b *BenchmarkBuilder) Workload(fio *FioBuilder) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Workload = nil
	if fio != nil {
		b.benchmark.Spec.Run.Workload = fio.Workload()
	}
	return b
}

// Phase adds a phase of any kind.
func (b *BenchmarkBuilder) Phase(phase v1alpha1.Phase) *BenchmarkBuilder {
	if phase.Mode == "" {
		phase.Mode = v1alpha1.PhaseParallel
	}
	b.benchmark.Spec.Run.Phases = append(b.benchmark.Spec.Run.Phases, phase)
	return b
}

// Prepare adds a phase that lays out the dataset.
func (b *BenchmarkBuilder) Prepare(name string) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Prepare: &v1alpha1.PreparePhase{}})
}

// Steady adds a phase that measures for a duration, without warm-up.
func (b *BenchmarkBuilder) Steady(name string, duration v1alpha1.Duration) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Steady: &v1alpha1.SteadyPhase{Duration: duration, WarmUp: "0s"}})
}

func (b *BenchmarkBuilder) last() *v1alpha1.Phase {
	phases := b.benchmark.Spec.Run.Phases
	return &phases[len(phases)-1]
}

// WarmUp sets the warm-up of the last phase, which must be steady.
func (b *BenchmarkBuilder) WarmUp(length v1alpha1.Duration) *BenchmarkBuilder {
	b.last().Steady.WarmUp = length
	return b
}

// Sequential makes the last phase load the targets one after the other.
func (b *BenchmarkBuilder) Sequential() *BenchmarkBuilder {
	b.last().Mode = v1alpha1.PhaseSequential
	return b
}

// With sets the workload of the last phase.
func (b *BenchmarkBuilder) With(fio *FioBuilder) *BenchmarkBuilder {
	b.last().Workload = fio.Workload()
	return b
}

// WithProfile makes the last phase use a profile.
func (b *BenchmarkBuilder) WithProfile(kind, name string) *BenchmarkBuilder {
	b.last().Workload = &v1alpha1.Workload{ProfileRef: &v1alpha1.ProfileRef{Kind: kind, Name: name}}
	return b
}

// For sets the workload of one target in the last phase.
func (b *BenchmarkBuilder) For(target string, fio *FioBuilder) *BenchmarkBuilder {
	phase := b.last()
	phase.TargetWorkloads = append(phase.TargetWorkloads, v1alpha1.TargetWorkload{Target: target, Workload: *fio.Workload()})
	return b
}
