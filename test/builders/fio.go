package builders

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// FioBuilder builds a profile for fio.
type FioBuilder struct {
	profile v1alpha1.FioProfile
}

// Fio is random writes of 64 KiB, direct, eight outstanding, on 64 MiB a client.
func Fio() *FioBuilder {
	writes, depth, block := int32(0), int32(8), resource.MustParse("64Ki")
	return &FioBuilder{profile: v1alpha1.FioProfile{
		Pattern:     v1alpha1.FioRandom,
		ReadPercent: &writes,
		BlockSize:   &block,
		QueueDepth:  &depth,
		DatasetSize: resource.MustParse("64Mi"),
	}}
}

// JobFile is a profile of a whole job file.
func JobFile(text, datasetSize string) *FioBuilder {
	return &FioBuilder{profile: v1alpha1.FioProfile{JobFile: text, DatasetSize: resource.MustParse(datasetSize)}}
}

// Obj is the profile.
func (b *FioBuilder) Obj() *v1alpha1.FioProfile { return b.profile.DeepCopy() }

// Engine is the profile as that of a WorkloadProfile.
func (b *FioBuilder) Engine() v1alpha1.Engine { return v1alpha1.Engine{Fio: b.Obj()} }

// Workload is the profile written in place.
func (b *FioBuilder) Workload() *v1alpha1.Workload { return &v1alpha1.Workload{Engine: b.Engine()} }

// Mutate changes what no method of the builder does.
func (b *FioBuilder) Mutate(change func(*v1alpha1.FioProfile)) *FioBuilder {
	change(&b.profile)
	return b
}

// ReadPercent mixes reads and writes.
func (b *FioBuilder) ReadPercent(percent int32) *FioBuilder {
	b.profile.ReadPercent = &percent
	return b
}

// Reads only reads.
func (b *FioBuilder) Reads() *FioBuilder { return b.ReadPercent(100) }

// Dataset sets the bytes of each client.
func (b *FioBuilder) Dataset(size string) *FioBuilder {
	b.profile.DatasetSize = resource.MustParse(size)
	return b
}

// BlockSize sets that of each operation.
func (b *FioBuilder) BlockSize(size string) *FioBuilder {
	block := resource.MustParse(size)
	b.profile.BlockSize = &block
	return b
}

// Jobs sets their number.
func (b *FioBuilder) Jobs(count int32) *FioBuilder {
	b.profile.Jobs = &count
	return b
}

// Buffered goes through the page cache, one operation at a time.
func (b *FioBuilder) Buffered() *FioBuilder {
	direct := false
	b.profile.Direct, b.profile.QueueDepth, b.profile.IOEngine = &direct, nil, v1alpha1.FioPsync
	return b
}

// Null does no I/O at all.
func (b *FioBuilder) Null() *FioBuilder {
	b.profile.IOEngine = v1alpha1.FioNull
	return b
}

// FsyncEvery flushes after that many writes.
func (b *FioBuilder) FsyncEvery(writes int32) *FioBuilder {
	b.profile.Fsync = &v1alpha1.FioFsync{EveryWrites: &writes}
	return b
}

// FsyncAtEnd flushes when the job ends.
func (b *FioBuilder) FsyncAtEnd() *FioBuilder {
	yes := true
	b.profile.Fsync = &v1alpha1.FioFsync{AtEnd: &yes}
	return b
}

// Compressible makes a part of what is written compressible.
func (b *FioBuilder) Compressible(percent int32) *FioBuilder {
	b.profile.Compressibility = &v1alpha1.Compressibility{Percent: percent}
	return b
}
