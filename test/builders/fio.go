package builders

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// FioBuilder builds an fio profile.
type FioBuilder struct {
	profile v1alpha1.FioProfile
}

// Fio returns a profile of random direct writes of 64 KiB at a queue depth of 8, with a dataset of 64 MiB per client.
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

// JobFile returns a profile with an fio job file.
func JobFile(text, datasetSize string) *FioBuilder {
	return &FioBuilder{profile: v1alpha1.FioProfile{JobFile: text, DatasetSize: resource.MustParse(datasetSize)}}
}

// Obj returns a copy of the profile.
func (b *FioBuilder) Obj() *v1alpha1.FioProfile { return b.profile.DeepCopy() }

// Engine returns the profile as an engine, for example of a WorkloadProfile.
func (b *FioBuilder) Engine() v1alpha1.Engine { return v1alpha1.Engine{Fio: b.Obj()} }

// Workload returns the profile as an inline workload.
func (b *FioBuilder) Workload() *v1alpha1.Workload { return &v1alpha1.Workload{Engine: b.Engine()} }

// Mutate applies a change for which the builder has no method.
func (b *FioBuilder) Mutate(change func(*v1alpha1.FioProfile)) *FioBuilder {
	change(&b.profile)
	return b
}

// ReadPercent sets the share of reads.
func (b *FioBuilder) ReadPercent(percent int32) *FioBuilder {
	b.profile.ReadPercent = &percent
	return b
}

// Reads makes the profile read only.
func (b *FioBuilder) Reads() *FioBuilder { return b.ReadPercent(100) }

// Dataset sets the size of each client's dataset.
func (b *FioBuilder) Dataset(size string) *FioBuilder {
	b.profile.DatasetSize = resource.MustParse(size)
	return b
}

// BlockSize sets the block size.
func (b *FioBuilder) BlockSize(size string) *FioBuilder {
	block := resource.MustParse(size)
	b.profile.BlockSize = &block
	return b
}

// Jobs sets the number of jobs.
func (b *FioBuilder) Jobs(count int32) *FioBuilder {
	b.profile.Jobs = &count
	return b
}

// Buffered uses the page cache, with one operation at a time.
func (b *FioBuilder) Buffered() *FioBuilder {
	direct := false
	b.profile.Direct, b.profile.QueueDepth, b.profile.IOEngine = &direct, nil, v1alpha1.FioPsync
	return b
}

// Null uses fio's null engine, which performs no I/O.
func (b *FioBuilder) Null() *FioBuilder {
	b.profile.IOEngine = v1alpha1.FioNull
	return b
}

// FsyncEvery flushes after the given number of writes.
func (b *FioBuilder) FsyncEvery(writes int32) *FioBuilder {
	b.profile.Fsync = &v1alpha1.FioFsync{EveryWrites: &writes}
	return b
}

// FsyncAtEnd flushes when a job ends.
func (b *FioBuilder) FsyncAtEnd() *FioBuilder {
	yes := true
	b.profile.Fsync = &v1alpha1.FioFsync{AtEnd: &yes}
	return b
}

// Compressible sets by how many percent the written data can be compressed.
func (b *FioBuilder) Compressible(percent int32) *FioBuilder {
	b.profile.Compressibility = &v1alpha1.Compressibility{Percent: percent}
	return b
}
