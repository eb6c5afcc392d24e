package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// FioProfile is a workload for fio. Typed fields hold the common settings, and options holds other fio options.
// Alternatively, jobFile holds a complete job file.
//
// Without a jobFile, pattern, readPercent and blockSize are required. They have no defaults, so
// that the shape of the load is always explicit.
//
// +kubebuilder:validation:XValidation:rule="has(self.jobFile) || has(self.pattern)",message="pattern: required without a jobFile; set it to Sequential or Random",fieldPath=".pattern",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="has(self.jobFile) || has(self.readPercent)",message="readPercent: required without a jobFile; use 100 for reads only, 0 for writes only",fieldPath=".readPercent",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="has(self.jobFile) || has(self.blockSize)",message="blockSize: required without a jobFile; use a size such as 4Ki or 1Mi",fieldPath=".blockSize",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.blockSize) || (has(self.direct) && !self.direct) || (has(self.ioEngine) && self.ioEngine in ['mmap', 'null']) || [string(self.blockSize)].all(s, !isQuantity(s) || quantity(s).isLessThan(quantity('512')) || quantity(s).isGreaterThan(quantity('1Gi')) || int(quantity(s).asApproximateFloat() + 0.5) % 512 == 0)",message="blockSize: direct I/O needs a multiple of 512; change it (4k is 4000, 4Ki is 4096), or set direct to false",fieldPath=".blockSize"
// +kubebuilder:validation:XValidation:rule="!has(self.blockSize) || ![string(self.blockSize), string(self.datasetSize)].all(s, isQuantity(s) && sign(quantity(s)) > 0) || quantity(string(self.datasetSize)).asApproximateFloat() >= quantity(string(self.blockSize)).asApproximateFloat() * double((has(self.filesPerJob) ? self.filesPerJob : 1) * (has(self.jobs) && !(has(self.fileSharing) && self.fileSharing == 'Shared') ? self.jobs : 1))",message="datasetSize: too small, each file of each job must hold at least one block; raise it, or lower jobs, filesPerJob or blockSize",fieldPath=".datasetSize"
// +kubebuilder:validation:XValidation:rule="!has(self.queueDepth) || self.queueDepth == 1 || !has(self.ioEngine) || !(self.ioEngine in ['psync', 'sync', 'mmap'])",messageExpression="'queueDepth: the ioEngine ' + self.ioEngine + ' does one operation at a time; remove queueDepth, raise jobs, or use libaio'",fieldPath=".queueDepth"
// +kubebuilder:validation:XValidation:rule="!has(self.randomDistribution) || (has(self.pattern) && self.pattern == 'Random')",message="randomDistribution: requires the Random pattern; remove it, or set pattern to Random",fieldPath=".randomDistribution"
// +kubebuilder:validation:XValidation:rule="!has(self.fsync) || !has(self.readPercent) || self.readPercent < 100",message="fsync: no data is written if readPercent is 100; remove fsync or lower readPercent",fieldPath=".fsync"
type FioProfile struct {
	// pattern is the order of the I/O offsets: Sequential or Random.
	// +optional
	Pattern FioPattern `json:"pattern,omitempty"`

	// readPercent is the percentage of operations that are reads; the others are writes. 100 means only reads, 0 only
	// writes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ReadPercent *int32 `json:"readPercent,omitempty"`

	// blockSize is the size of each operation in bytes, such as 4Ki or 1Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && !s.matches('[kMGTPE]$') && (quantity(s).isInteger() || s.endsWith('i')) && !quantity(s).isLessThan(quantity('512')) && !quantity(s).isGreaterThan(quantity('1Gi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 512 to 1Gi, such as 4Ki'"
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`

	// jobs is the number of fio jobs per client. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Jobs *int32 `json:"jobs,omitempty"`

	// queueDepth is the number of operations that each job keeps outstanding. Defaults to 1. The engines psync, sync
	// and mmap allow only 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	QueueDepth *int32 `json:"queueDepth,omitempty"`

	// datasetSize is the total size of the files of each client, in bytes. With a jobFile, it is the sum of the sizes in
	// the job file for one client. The run checks that there is enough free space before it writes anything.
	// +required
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (!s.matches('[kMGTPE]$') || int(quantity(s).asApproximateFloat()) % 4096 == 0) && (quantity(s).isInteger() || s.endsWith('i')) && !quantity(s).isLessThan(quantity('512')) && !quantity(s).isGreaterThan(quantity('1Pi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 512 to 1Pi, such as 8Gi'"
	DatasetSize resource.Quantity `json:"datasetSize"`

	// filesPerJob is the number of files of each job. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	FilesPerJob *int32 `json:"filesPerJob,omitempty"`

	// fileSharing is PerJob if each job has its own files, or Shared if the jobs of a client use the same files.
	// Defaults to PerJob.
	// +optional
	FileSharing FileSharing `json:"fileSharing,omitempty"`

	// direct bypasses the page cache of the client (O_DIRECT). Defaults to true.
	// +optional
	Direct *bool `json:"direct,omitempty"`

	// ioEngine is the I/O engine of fio. Defaults to libaio. io_uring is blocked in most containers; null does no I/O
	// and measures only fio itself.
	// +optional
	IOEngine FioIOEngine `json:"ioEngine,omitempty"`

	// rateLimit limits the load of each client.
	// +optional
	RateLimit *FioRateLimit `json:"rateLimit,omitempty"`

	// randomDistribution is the distribution of the offsets of a Random pattern: random, zipf:THETA, pareto:H,
	// normal:DEVIATION, or zoned:ACCESS/SIZE:... in percent. Defaults to random.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(random|zipf:[0-9]+([.][0-9]+)?|pareto:0?[.][0-9]+|normal:[0-9]+([.][0-9]+)?|zoned:[0-9]+/[0-9]+(:[0-9]+/[0-9]+)*)$')",message="randomDistribution: use random, zipf:1.2, pareto:0.9, normal:20 or zoned:60/10:30/20:10/70"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^zipf:0*1([.]0*)?$')",message="randomDistribution: zipf is not defined for 1; use zipf:1.1 or zipf:0.9"
	RandomDistribution string `json:"randomDistribution,omitempty"`

	// compressibility sets how well the written data compresses.
	// +optional
	Compressibility *Compressibility `json:"compressibility,omitempty"`

	// compressLike is the path of a file or directory with your own data, relative to the target's path. Before the load,
	// the agents measure with lz4 how well a sample of this data compresses; fio then writes data that compresses equally
	// well. compressLike cannot be combined with compressibility.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="compressLike: must be a relative path below the target's path, such as projects/2024"
	CompressLike string `json:"compressLike,omitempty"`

	// refillBuffers generates new data for every write, so that a store that compresses or deduplicates cannot benefit
	// from repeated data. Defaults to false.
	// +optional
	RefillBuffers *bool `json:"refillBuffers,omitempty"`

	// fsync sets when writes are flushed to the storage.
	// +optional
	Fsync *FioFsync `json:"fsync,omitempty"`

	// options are additional fio options by name, from a list of safe ones. Options that name a path, run a command or
	// load code are refused, as are options that a typed field or the operator sets.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z0-9_]{1,64}$'))",message="options: fio option names have only lower-case letters, digits and underscores"
	// +kubebuilder:validation:XValidation:rule="!['filename', 'directory', 'filename_format', 'opendir', 'include', 'output', 'lockfile', 'aux_path', 'read_iolog', 'write_iolog', 'merge_blktrace_file'].exists(n, n in self) && !self.exists(k, k.startsWith('write_') && k.endsWith('_log'))",message="options: remove filename, directory, filename_format, opendir, include, output, lockfile, aux_path, read_iolog, write_iolog, merge_blktrace_file and write_*_log, which name a path"
	// +kubebuilder:validation:XValidation:rule="!['exec_prerun', 'exec_postrun'].exists(n, n in self)",message="options: remove exec_prerun and exec_postrun, which run a command"
	// +kubebuilder:validation:XValidation:rule="!['cgroup', 'uid', 'gid'].exists(n, n in self)",message="options: remove cgroup, uid and gid, which change the user or group"
	// +kubebuilder:validation:XValidation:rule="!['rw', 'readwrite', 'rwmixread', 'rwmixwrite', 'bs', 'blocksize', 'iodepth', 'direct', 'ioengine', 'numjobs', 'nrfiles', 'size', 'filesize'].exists(n, n in self)",message="options: use the fields pattern for rw and readwrite, readPercent for rwmixread and rwmixwrite, blockSize for bs and blocksize, queueDepth for iodepth, direct for direct, ioEngine for ioengine, jobs for numjobs, filesPerJob for nrfiles, and datasetSize for size and filesize"
	// +kubebuilder:validation:XValidation:rule="!['runtime', 'ramp_time', 'time_based', 'stonewall', 'wait_for', 'group_reporting'].exists(n, n in self)",message="options: remove runtime, ramp_time, time_based, stonewall, wait_for and group_reporting, which the operator sets based on the phase"
	Options map[string]FioOptionValue `json:"options,omitempty"`

	// jobFile is a complete fio job file. It replaces every field except datasetSize. The rules for
	// options apply to each of its sections.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	JobFile string `json:"jobFile,omitempty"`
}

// FioOptionValue is the value of a fio option, on one line.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="!self.contains('\\n') && !self.contains('\\r')",message="must be on one line; remove the line break"
type FioOptionValue string

// FioPattern is the order of the I/O offsets.
//
// +kubebuilder:validation:Enum=Sequential;Random
type FioPattern string

// Possible values of FioPattern.
const (
	FioSequential FioPattern = "Sequential"
	FioRandom     FioPattern = "Random"
)

// FileSharing determines whether the jobs of a client share files.
//
// +kubebuilder:validation:Enum=PerJob;Shared
type FileSharing string

const (
	// FilesPerJob gives each job its own files.
	FilesPerJob FileSharing = "PerJob"
	// FilesShared lets the jobs of a client use the same files.
	FilesShared FileSharing = "Shared"
)

// FioIOEngine is the name of a fio I/O engine.
//
// +kubebuilder:validation:Enum=libaio;io_uring;psync;sync;posixaio;mmap;null
type FioIOEngine string

// Possible values of FioIOEngine.
const (
	FioLibaio   FioIOEngine = "libaio"
	FioIOUring  FioIOEngine = "io_uring"
	FioPsync    FioIOEngine = "psync"
	FioSync     FioIOEngine = "sync"
	FioPosixAIO FioIOEngine = "posixaio"
	FioMmap     FioIOEngine = "mmap"
	FioNull     FioIOEngine = "null"
)

// FioRateLimit limits the total load of a client, over all jobs and kinds of operations. At least one field is set.
//
// +kubebuilder:validation:MinProperties=1
type FioRateLimit struct {
	// bytesPerSecond is the maximum throughput of each client.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1P')))",message="a whole number above zero, such as 100M"
	BytesPerSecond *resource.Quantity `json:"bytesPerSecond,omitempty"`

	// iops is the maximum number of operations per second of each client.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	IOPS *int64 `json:"iops,omitempty"`
}

// Compressibility sets how well the written data compresses.
type Compressibility struct {
	// percent is the percentage of each chunk that compression saves.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent"`

	// chunkSize is the size of a chunk of data, in bytes. Defaults to 4Ki.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && !s.matches('[kMGTPE]$') && (quantity(s).isInteger() || s.endsWith('i')) && !quantity(s).isLessThan(quantity('512')) && !quantity(s).isGreaterThan(quantity('1Gi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 512 to 1Gi, such as 4Ki'"
	ChunkSize *resource.Quantity `json:"chunkSize,omitempty"`
}

// FioFsync sets when writes are flushed. The flush latency is reported for the operation Sync.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.data) || !self.data || has(self.everyWrites)",message="data: requires everyWrites; set everyWrites, or remove data",fieldPath=".data"
type FioFsync struct {
	// everyWrites is the number of writes of a job between two flushes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	EveryWrites *int32 `json:"everyWrites,omitempty"`

	// data selects fdatasync, which may leave out metadata, instead of fsync.
	// +optional
	Data *bool `json:"data,omitempty"`

	// atEnd flushes each file when the job ends.
	// +optional
	AtEnd *bool `json:"atEnd,omitempty"`
}
