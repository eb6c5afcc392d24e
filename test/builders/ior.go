package builders

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// IORBuilder builds a profile for IOR.
type IORBuilder struct {
	profile v1alpha1.IORProfile
}

// IOR writes 16 MiB a rank, in transfers of 1 MiB, a file each.
func IOR() *IORBuilder {
	return &IORBuilder{profile: v1alpha1.IORProfile{TransferSize: resource.MustParse("1Mi"), BlockSize: resource.MustParse("16Mi")}}
}

// Obj is the profile.
func (b *IORBuilder) Obj() *v1alpha1.IORProfile { return b.profile.DeepCopy() }

// Engine is the profile as that of a WorkloadProfile.
func (b *IORBuilder) Engine() v1alpha1.Engine { return v1alpha1.Engine{IOR: b.Obj()} }

// Mutate changes what no method of the builder does.
func (b *IORBuilder) Mutate(change func(*v1alpha1.IORProfile)) *IORBuilder {
	change(&b.profile)
	return b
}

// Block sets the contiguous bytes of each rank.
func (b *IORBuilder) Block(size string) *IORBuilder {
	b.profile.BlockSize = resource.MustParse(size)
	return b
}

// Direct goes past the page cache.
func (b *IORBuilder) Direct() *IORBuilder {
	b.profile.Direct = new(true)
	return b
}

// Reads only reads.
func (b *IORBuilder) Reads() *IORBuilder {
	b.profile.Operations = []v1alpha1.Operation{v1alpha1.OperationRead}
	return b
}

// Overwrites leaves the files that are there whole.
func (b *IORBuilder) Overwrites() *IORBuilder {
	b.profile.UseExistingFiles = new(true)
	return b
}

// Post is the profile of a published test of FSx for Lustre: a thousand writes of 12,000 MiB a rank.
func Post() *IORBuilder {
	return IOR().Mutate(func(p *v1alpha1.IORProfile) {
		p.BlockSize, p.Segments, p.Direct, p.Fsync = resource.MustParse("1Mi"), new(int64(12000)), new(true), new(false)
		p.IntraTestBarriers, p.Repetitions, p.Args = new(true), new(int32(1000)), []string{"-v"}
	})
}

// Mdtest makes a hundred files a rank, of 4 KiB.
func Mdtest() v1alpha1.Engine {
	size := resource.MustParse("4Ki")
	return v1alpha1.Engine{Mdtest: &v1alpha1.MdtestProfile{FilesPerProcess: 100, UniqueDirectories: new(true), FileSize: &size}}
}

// Load sets the workload of the run to that of any engine.
func (b *BenchmarkBuilder) Load(engine v1alpha1.Engine) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Workload = &v1alpha1.Workload{Engine: engine}
	return b
}

// WithLoad gives the last phase a workload of any engine.
func (b *BenchmarkBuilder) WithLoad(engine v1alpha1.Engine) *BenchmarkBuilder {
	b.last().Workload = &v1alpha1.Workload{Engine: engine}
	return b
}

// ForLoad gives one target a workload of any engine in the last phase.
func (b *BenchmarkBuilder) ForLoad(target string, engine v1alpha1.Engine) *BenchmarkBuilder {
	phase := b.last()
	phase.TargetWorkloads = append(phase.TargetWorkloads, v1alpha1.TargetWorkload{Target: target, Workload: v1alpha1.Workload{Engine: engine}})
	return b
}

// Processes sets the ranks of each client.
func (b *BenchmarkBuilder) Processes(count int32) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Clients.ProcessesPerClient = count
	return b
}

// PerClient gives each client of the last target a volume of its own.
func (b *BenchmarkBuilder) PerClient() *BenchmarkBuilder {
	targets := b.benchmark.Spec.Run.Targets
	volume := &targets[len(targets)-1].Volumes[0]
	volume.ClaimName, volume.ClaimTemplate = "", &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimPerClient, Spec: ClaimSpec(corev1.ReadWriteOnce, "1Gi")}
	return b
}
