package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// IORProfile is a workload for IOR under MPI, on all clients of a target.
//
// +kubebuilder:validation:XValidation:rule="(isQuantity(string(self.transferSize)) && (double(int(quantity(string(self.transferSize)).asApproximateFloat() + 0.5)) - quantity(string(self.transferSize)).asApproximateFloat() < 0.3 && quantity(string(self.transferSize)).asApproximateFloat() - double(int(quantity(string(self.transferSize)).asApproximateFloat() + 0.5)) < 0.3) && quantity(string(self.transferSize)).compareTo(quantity('1')) >= 0 && quantity(string(self.transferSize)).compareTo(quantity('1Gi')) <= 0)",message="transferSize: a whole number of bytes from 1 to 1Gi, such as 1Mi",fieldPath=".transferSize"
// +kubebuilder:validation:XValidation:rule="(isQuantity(string(self.blockSize)) && (double(int(quantity(string(self.blockSize)).asApproximateFloat() + 0.5)) - quantity(string(self.blockSize)).asApproximateFloat() < 0.3 && quantity(string(self.blockSize)).asApproximateFloat() - double(int(quantity(string(self.blockSize)).asApproximateFloat() + 0.5)) < 0.3) && quantity(string(self.blockSize)).compareTo(quantity('1')) >= 0 && quantity(string(self.blockSize)).compareTo(quantity('1Pi')) <= 0)",message="blockSize: a whole number of bytes from 1 to 1Pi, such as 12000Mi",fieldPath=".blockSize"
// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self.transferSize)) || !isQuantity(string(self.blockSize)) || !(double(int(quantity(string(self.transferSize)).asApproximateFloat() + 0.5)) - quantity(string(self.transferSize)).asApproximateFloat() < 0.3 && quantity(string(self.transferSize)).asApproximateFloat() - double(int(quantity(string(self.transferSize)).asApproximateFloat() + 0.5)) < 0.3) || !(double(int(quantity(string(self.blockSize)).asApproximateFloat() + 0.5)) - quantity(string(self.blockSize)).asApproximateFloat() < 0.3 && quantity(string(self.blockSize)).asApproximateFloat() - double(int(quantity(string(self.blockSize)).asApproximateFloat() + 0.5)) < 0.3) || quantity(string(self.transferSize)).compareTo(quantity('0')) <= 0 || int(quantity(string(self.blockSize)).asApproximateFloat() + 0.5) % int(quantity(string(self.transferSize)).asApproximateFloat() + 0.5) == 0",message="blockSize: must be a multiple of transferSize; IOR refuses anything else",fieldPath=".blockSize"
type IORProfile struct {
	// api is IOR's interface to the storage.
	// +optional
	// +kubebuilder:default=POSIX
	// +kubebuilder:validation:Enum=POSIX;MPIIO
	API string `json:"api,omitempty"`

	// transferSize of each operation, in bytes.
	// +required
	TransferSize resource.Quantity `json:"transferSize"`

	// blockSize is the contiguous bytes of each rank a segment.
	// +required
	BlockSize resource.Quantity `json:"blockSize"`

	// segments is the number of blocks of each rank.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Segments *int64 `json:"segments,omitempty"`

	// filePerProcess gives each rank a file of its own.
	// +optional
	// +kubebuilder:default=true
	FilePerProcess *bool `json:"filePerProcess,omitempty"`

	// operations to run, in IOR's own order: Write, then Read.
	// +optional
	// +listType=set
	// +kubebuilder:default={Write}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=Write;Read
	Operations []Operation `json:"operations,omitempty"`

	// random takes the offsets in random order.
	// +optional
	Random *bool `json:"random,omitempty"`

	// direct bypasses the page cache of the client.
	// +optional
	Direct *bool `json:"direct,omitempty"`

	// fsync flushes at the end of each write.
	// +optional
	// +kubebuilder:default=true
	Fsync *bool `json:"fsync,omitempty"`

	// reorderTasks reads what another client has written, so that no client's
	// own cache serves it.
	// +optional
	// +kubebuilder:default=true
	ReorderTasks *bool `json:"reorderTasks,omitempty"`

	// stonewall ends each repetition after that time.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || duration(self) >= duration('1s')",message="at least 1s: shorter steps measure nothing; write a longer time such as 60s"
	Stonewall *Duration `json:"stonewall,omitempty"`

	// dataPattern is what is written; tools and versions differ in their own
	// default, which a compressing store turns into speed.
	// +optional
	// +kubebuilder:validation:Enum=Timestamp;Offset;Incompressible;Random
	DataPattern string `json:"dataPattern,omitempty"`

	// options are more of IOR's own options, from a list of safe ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Options []string `json:"options,omitempty"`
}

// MdtestProfile is a workload for mdtest, a test of metadata, under MPI.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fileSize) || (isQuantity(string(self.fileSize)) && (double(int(quantity(string(self.fileSize)).asApproximateFloat() + 0.5)) - quantity(string(self.fileSize)).asApproximateFloat() < 0.3 && quantity(string(self.fileSize)).asApproximateFloat() - double(int(quantity(string(self.fileSize)).asApproximateFloat() + 0.5)) < 0.3) && quantity(string(self.fileSize)).compareTo(quantity('0')) >= 0 && quantity(string(self.fileSize)).compareTo(quantity('1Ti')) <= 0)",message="fileSize: a whole number of bytes up to 1Ti, such as 4Ki",fieldPath=".fileSize"
type MdtestProfile struct {
	// filesPerProcess is the number of files of each rank.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	FilesPerProcess int64 `json:"filesPerProcess"`

	// uniqueDirectories gives each rank a directory of its own.
	// +optional
	UniqueDirectories *bool `json:"uniqueDirectories,omitempty"`

	// filesOnly leaves out the test of directories.
	// +optional
	FilesOnly *bool `json:"filesOnly,omitempty"`

	// fileSize that is written to each file, in bytes.
	// +optional
	FileSize *resource.Quantity `json:"fileSize,omitempty"`

	// depth of the tree of directories.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Depth *int32 `json:"depth,omitempty"`

	// branching is the number of directories in each directory.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Branching *int32 `json:"branching,omitempty"`

	// iterations of the whole test.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Iterations *int32 `json:"iterations,omitempty"`

	// options are more of mdtest's own options, from a list of safe ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Options []string `json:"options,omitempty"`
}
