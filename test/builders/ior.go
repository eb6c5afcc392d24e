package builders

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// IORBuilder builds an IOR profile.
type IORBuilder struct {
	profile v1alpha1.IORProfile
}

// IOR returns a profile in which each rank writes 16 MiB to its own file, in transfers of 1 MiB.
func IOR() *IORBuilder {
	return &IORBuilder{profile: v1alpha1.IORProfile{TransferSize: resource.MustParse("1Mi"), BlockSize: resource.MustParse("16Mi")}}
}

// Obj returns a copy of the profile.
func (b *IORBuilder) Obj() *v1alpha1.IORProfile { return b.profile.DeepCopy() }

// Engine returns the profile as an engine, for example of a WorkloadProfile.
func (b *IORBuilder) Engine() v1alpha1.Engine { return v1alpha1.Engine{IOR: b.Obj()} }

// Mutate applies a change for which the builder has no method.
func (b *IORBuilder) Mutate(change func(*v1alpha1.IORProfile)) *IORBuilder {
	change(&b.profile)
	return b
}

// Block sets the number of contiguous bytes per rank.
func (b *IORBuilder) Block(size string) *IORBuilder {
	b.profile.BlockSize = resource.MustParse(size)
	return b
}

// Direct bypasses the page cache.
func (b *IORBuilder) Direct() *IORBuilder {
	b.profile.Direct = new(true)
	return b
}

// Reads makes the profile read only.
func (b *IORBuilder) Reads() *IORBuilder {
	b.profile.Operations = []v1alpha1.Operation{v1alpha1.OperationRead}
	return b
}

// Overwrites makes IOR write to existing files without truncating them.
func (b *IORBuilder) Overwrites() *IORBuilder {
	b.profile.UseExistingFiles = new(true)
	return b
}

// Post returns the profile of a published test of FSx for Lustre: a thousand repetitions, in each of which each rank
// writes 12,000 MiB.
func Post() *IORBuilder {
	return IOR().Mutate(func(p *v1alpha1.IORProfile) {
		p.BlockSize, p.Segments, p.Direct, p.Fsync = resource.MustParse("1Mi"), new(int64(12000)), new(true), new(false)
		p.IntraTestBarriers, p.Repetitions, p.Args = new(true), new(int32(1000)), []string{"-v"}
	})
}

// Mdtest returns an engine that creates a hundred files of 4 KiB per rank.
func Mdtest() v1alpha1.Engine {
	size := resource.MustParse("4Ki")
	return v1alpha1.Engine{Mdtest: &v1alpha1.MdtestProfile{FilesPerProcess: 100, UniqueDirectories: new(true), FileSize: &size}}
}

// Load sets the default workload of the run, of any engine.
func (b *BenchmarkBuilder) Load(engine v1alpha1.Engine) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Workload = &v1alpha1.Workload{Engine: engine}
	return b
}

// WithLoad sets the workload of the last phase, of any engine.
func (b *BenchmarkBuilder) WithLoad(engine v1alpha1.Engine) *BenchmarkBuilder {
	b.last().Workload = &v1alpha1.Workload{Engine: engine}
	return b
}

// ForLoad sets the workload of one target in the last phase, of any engine.
func (b *BenchmarkBuilder) ForLoad(target string, engine v1alpha1.Engine) *BenchmarkBuilder {
	phase := b.last()
	phase.TargetWorkloads = append(phase.TargetWorkloads, v1alpha1.TargetWorkload{Target: target, Workload: v1alpha1.Workload{Engine: engine}})
	return b
}

// Processes sets the number of processes per client.
func (b *BenchmarkBuilder) Processes(count int32) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Clients.ProcessesPerClient = count
	return b
}

// PerClient makes the last target create a volume for each client.
func (b *BenchmarkBuilder) PerClient() *BenchmarkBuilder {
	targets := b.benchmark.Spec.Run.Targets
	volume := &targets[len(targets)-1].Volumes[0]
	volume.ClaimName, volume.ClaimTemplate = "", &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimPerClient, Spec: ClaimSpec(corev1.ReadWriteOnce, "1Gi")}
	return b
}
