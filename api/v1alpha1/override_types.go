package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// WorkloadOverride changes the load of a phase. It does not change the files, unless it sets jobs and fileSharing is
// PerJob. Exactly one of fio and ior is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.fio) != has(self.ior)",message="override: set exactly one of fio and ior, the engine of the workload"
type WorkloadOverride struct {
	// fio changes a fio workload without a jobFile.
	// +optional
	Fio *FioOverride `json:"fio,omitempty"`

	// ior changes an IOR workload.
	// +optional
	IOR *IOROverride `json:"ior,omitempty"`
}

// FioOverride replaces settings of a FioProfile. Setting pattern to Sequential removes
// randomDistribution.
//
// +kubebuilder:validation:MinProperties=1
type FioOverride struct {
	// pattern replaces the order of the I/O offsets.
	// +optional
	Pattern FioPattern `json:"pattern,omitempty"`

	// readPercent replaces the percentage of operations that are reads.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ReadPercent *int32 `json:"readPercent,omitempty"`

	// blockSize replaces the size of each operation.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && !s.matches('[kMGTPE]$') && (quantity(s).isInteger() || s.endsWith('i')) && !quantity(s).isLessThan(quantity('512')) && !quantity(s).isGreaterThan(quantity('1Gi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 512 to 1Gi, such as 4Ki'"
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`

	// jobs replaces the number of jobs per client. With fileSharing PerJob, this also changes the files.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Jobs *int32 `json:"jobs,omitempty"`

	// queueDepth replaces the number of operations that each job keeps outstanding.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	QueueDepth *int32 `json:"queueDepth,omitempty"`

	// direct sets whether the page cache of the client is bypassed.
	// +optional
	Direct *bool `json:"direct,omitempty"`

	// rateLimit replaces the rate limit of each client.
	// +optional
	RateLimit *FioRateLimit `json:"rateLimit,omitempty"`

	// randomDistribution replaces the distribution of the offsets of a Random pattern.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	RandomDistribution string `json:"randomDistribution,omitempty"`

	// fsync sets when writes are flushed to the storage.
	// +optional
	Fsync *FioFsync `json:"fsync,omitempty"`
}

// IOROverride replaces settings of an IORProfile.
//
// +kubebuilder:validation:MinProperties=1
type IOROverride struct {
	// operations replaces the operations to run.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=Write;Read
	Operations []Operation `json:"operations,omitempty"`

	// transferSize replaces the size of each operation.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && !s.matches('[kMGTPE]$') && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1Gi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 1 to 1Gi, such as 1Mi'"
	TransferSize *resource.Quantity `json:"transferSize,omitempty"`

	// random sets whether the offsets within each block are in random order.
	// +optional
	Random *bool `json:"random,omitempty"`

	// direct sets whether the page cache of the client is bypassed.
	// +optional
	Direct *bool `json:"direct,omitempty"`

	// reorderTasks sets which rank reads which data.
	// +optional
	ReorderTasks IORReorder `json:"reorderTasks,omitempty"`
}
