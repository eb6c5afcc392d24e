package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// FioProfile is a workload for fio: typed fields for what people set most,
// options for more of fio's own, or a whole jobFile instead of both.
//
// Without a jobFile, pattern, readPercent and blockSize are required: a
// benchmark whose shape was guessed cannot be defended.
type FioProfile struct {
	// pattern of the offsets: Sequential or Random.
	// +optional
	Pattern FioPattern `json:"pattern,omitempty"`

	// readPercent of the operations are reads, the others writes: 100 only
	// reads, 0 only writes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ReadPercent *int32 `json:"readPercent,omitempty"`

	// blockSize of each operation, in bytes, such as 4Ki or 1Mi.
	// +optional
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`

	// jobs are the threads of load a client. Absent: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Jobs *int32 `json:"jobs,omitempty"`

	// queueDepth is the number of operations that each job keeps outstanding.
	// Absent: 1. The engines psync and sync are limited to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	QueueDepth *int32 `json:"queueDepth,omitempty"`

	// datasetSize is the bytes that each client works on, over all its files.
	// With a jobFile it is what the sizes in the job file add up to a client:
	// free space is checked by it before anything is written.
	// +required
	DatasetSize resource.Quantity `json:"datasetSize"`

	// filesPerJob is the number of files of each job. Absent: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	FilesPerJob *int32 `json:"filesPerJob,omitempty"`

	// fileSharing is PerJob, where each job has files of its own, or Shared,
	// where the jobs of a client work on the same ones. Absent: PerJob.
	// +optional
	FileSharing FileSharing `json:"fileSharing,omitempty"`

	// direct bypasses the page cache of the client (O_DIRECT). Absent: true.
	// +optional
	Direct *bool `json:"direct,omitempty"`

	// ioEngine is the way in which fio does its I/O. Absent: libaio. io_uring
	// is blocked in most containers; null does no I/O at all and measures
	// only the tool.
	// +optional
	IOEngine FioIOEngine `json:"ioEngine,omitempty"`

	// rateLimit bounds the load of each client.
	// +optional
	RateLimit *FioRateLimit `json:"rateLimit,omitempty"`

	// randomDistribution of a Random pattern: random, zipf:THETA, pareto:H,
	// normal:DEVIATION, or zoned:ACCESS/SIZE:... in percent. Absent: random.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	RandomDistribution string `json:"randomDistribution,omitempty"`

	// compressibility of what is written.
	// +optional
	Compressibility *Compressibility `json:"compressibility,omitempty"`

	// refillBuffers makes new data for every write, so that a store which
	// compresses or dedupes gains nothing from repeats. Absent: false.
	// +optional
	RefillBuffers *bool `json:"refillBuffers,omitempty"`

	// fsync says when writes are flushed to the storage.
	// +optional
	Fsync *FioFsync `json:"fsync,omitempty"`

	// options are more of fio's own options, name to value, from a list of
	// those that are safe: none that names a path, runs a command or loads
	// code, and none that a typed field or the operator sets.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Options map[string]FioOptionValue `json:"options,omitempty"`

	// jobFile is a whole fio job file in place of every other field but
	// datasetSize. The rules of options hold in each of its sections.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	JobFile string `json:"jobFile,omitempty"`
}

// FioOptionValue is the value of one of fio's own options, on one line.
//
// +kubebuilder:validation:MaxLength=1024
type FioOptionValue string

// FioPattern is the pattern of offsets.
//
// +kubebuilder:validation:Enum=Sequential;Random
type FioPattern string

// The patterns.
const (
	FioSequential FioPattern = "Sequential"
	FioRandom     FioPattern = "Random"
)

// FileSharing says who works on a file.
//
// +kubebuilder:validation:Enum=PerJob;Shared
type FileSharing string

// The ways to share files.
const (
	// FilesPerJob: each job has files of its own.
	FilesPerJob FileSharing = "PerJob"
	// FilesShared: the jobs of a client share its files.
	FilesShared FileSharing = "Shared"
)

// FioIOEngine is one of fio's I/O engines, by fio's own name.
//
// +kubebuilder:validation:Enum=libaio;io_uring;psync;sync;posixaio;mmap;null
type FioIOEngine string

// The I/O engines that a profile may use.
const (
	FioLibaio   FioIOEngine = "libaio"
	FioIOUring  FioIOEngine = "io_uring"
	FioPsync    FioIOEngine = "psync"
	FioSync     FioIOEngine = "sync"
	FioPosixAIO FioIOEngine = "posixaio"
	FioMmap     FioIOEngine = "mmap"
	FioNull     FioIOEngine = "null"
)

// FioRateLimit bounds the load of a client, all its jobs and operations
// together. Either or both.
type FioRateLimit struct {
	// bytesPerSecond of each client.
	// +optional
	BytesPerSecond *resource.Quantity `json:"bytesPerSecond,omitempty"`

	// iops of each client.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	IOPS *int64 `json:"iops,omitempty"`
}

// Compressibility is how well what is written can be compressed.
type Compressibility struct {
	// percent of each chunk that compresses away.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent"`

	// chunkSize in bytes. Absent: 4Ki.
	// +optional
	ChunkSize *resource.Quantity `json:"chunkSize,omitempty"`
}

// FioFsync says when writes are flushed. The latency of these flushes is
// reported as the operation Sync.
type FioFsync struct {
	// everyWrites flushes after that many writes of a job.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	EveryWrites *int32 `json:"everyWrites,omitempty"`

	// data flushes with fdatasync, which may leave metadata out, in place of
	// fsync.
	// +optional
	Data *bool `json:"data,omitempty"`

	// atEnd flushes each file when the job ends.
	// +optional
	AtEnd *bool `json:"atEnd,omitempty"`
}
