package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// IORProfile is a workload for IOR, run under MPI across all clients of a target.
//
// +kubebuilder:validation:XValidation:rule="![string(self.transferSize), string(self.blockSize)].all(s, isQuantity(s) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1Pi'))) || int(quantity(string(self.blockSize)).asApproximateFloat() + 0.5) % int(quantity(string(self.transferSize)).asApproximateFloat() + 0.5) == 0",message="blockSize: must be a multiple of transferSize; IOR refuses anything else",fieldPath=".blockSize"
// +kubebuilder:validation:XValidation:rule="!has(self.direct) || !self.direct || !has(self.api) || self.api == 'POSIX'",message="direct: requires the POSIX api; remove direct, or set api to POSIX",fieldPath=".direct"
// +kubebuilder:validation:XValidation:rule="!has(self.collective) || !self.collective || (has(self.api) && self.api == 'MPIIO')",message="collective: requires the MPIIO api; set api to MPIIO, or remove collective",fieldPath=".collective"
// +kubebuilder:validation:XValidation:rule="!has(self.stonewallWearOut) || !self.stonewallWearOut || has(self.stonewall)",message="stonewallWearOut: requires stonewall; set stonewall, or remove stonewallWearOut",fieldPath=".stonewallWearOut"
// +kubebuilder:validation:XValidation:rule="!has(self.reorderTasks) || self.reorderTasks == 'None' || (has(self.operations) && 'Read' in self.operations)",message="reorderTasks: applies only to reads; add Read to operations, or remove reorderTasks",fieldPath=".reorderTasks"
// +kubebuilder:validation:XValidation:rule="!has(self.random) || !self.random || !has(self.verify) || !self.verify",message="verify: IOR cannot check data at random offsets; remove verify, or random",fieldPath=".verify"
// +kubebuilder:validation:XValidation:rule="!has(self.verify) || !self.verify || !has(self.dataPattern) || self.dataPattern in ['Timestamp', 'Offset']",message="verify: needs reproducible data; set dataPattern to Timestamp or Offset",fieldPath=".verify"
type IORProfile struct {
	// api is IOR's interface to the storage. Defaults to POSIX.
	// +optional
	// +kubebuilder:validation:Enum=POSIX;MPIIO
	API string `json:"api,omitempty"`

	// transferSize is the size of each operation in bytes.
	// +required
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && !s.matches('[kMGTPE]$') && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1Gi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 1 to 1Gi, such as 1Mi'"
	TransferSize resource.Quantity `json:"transferSize"`

	// blockSize is the number of contiguous bytes of each rank per segment.
	// +required
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (!s.matches('[kMGTPE]$') || int(quantity(s).asApproximateFloat()) % 4096 == 0) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1Pi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 1 to 1Pi, such as 12000Mi'"
	BlockSize resource.Quantity `json:"blockSize"`

	// segments is the number of segments. Each rank has one block in each segment. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Segments *int64 `json:"segments,omitempty"`

	// filePerProcess gives each rank its own file. Defaults to true.
	// +optional
	FilePerProcess *bool `json:"filePerProcess,omitempty"`

	// operations are the operations to run, in IOR's own order: Write, then Read. Defaults to Write.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=Write;Read
	Operations []Operation `json:"operations,omitempty"`

	// collective makes all ranks take part in each operation. Only for MPIIO.
	// +optional
	Collective *bool `json:"collective,omitempty"`

	// random accesses the offsets within each block in random order. The block must be larger than one transfer.
	// +optional
	Random *bool `json:"random,omitempty"`

	// direct bypasses the page cache of the client (O_DIRECT). Defaults to false, as in IOR itself. Only for POSIX.
	// +optional
	Direct *bool `json:"direct,omitempty"`

	// fsync flushes the data at the end of each write. Defaults to true.
	// +optional
	Fsync *bool `json:"fsync,omitempty"`

	// reorderTasks determines which rank reads which data, so that no client reads its own cache: Constant shifts the
	// ranks by one client, Random assigns the data randomly, None lets each rank read its own data. Defaults to
	// Constant, or to None if nothing is read or IOR cannot reorder (random offsets in a shared file).
	// +optional
	ReorderTasks IORReorder `json:"reorderTasks,omitempty"`

	// intraTestBarriers makes all ranks wait for each other between opening, transferring and
	// closing.
	// +optional
	IntraTestBarriers *bool `json:"intraTestBarriers,omitempty"`

	// repetitions is the number of repetitions of the whole test. Defaults to 1; in a burstDrain phase, to as many
	// repetitions as fit. A time-bound phase ignores this value and repeats the test until its time is over.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50000
	Repetitions *int32 `json:"repetitions,omitempty"`

	// stonewall ends each write and each read of a repetition after this time, in whole seconds. A time-bound phase uses a
	// shorter time if its duration is not a multiple of stonewall, so that all repetitions are equally long.
	// +optional
	Stonewall *Duration `json:"stonewall,omitempty"`

	// stonewallWearOut lets all ranks continue after the stonewall until each has moved as much data as the fastest rank.
	// +optional
	StonewallWearOut *bool `json:"stonewallWearOut,omitempty"`

	// keepFiles keeps the files after each repetition. Defaults to true. If false, IOR removes them, so later phases
	// have no files to read.
	// +optional
	KeepFiles *bool `json:"keepFiles,omitempty"`

	// useExistingFiles overwrites existing files. Otherwise, IOR removes and recreates them.
	// +optional
	UseExistingFiles *bool `json:"useExistingFiles,omitempty"`

	// verify checks the data after each write and on each read. Read times then include the check.
	// +optional
	Verify *bool `json:"verify,omitempty"`

	// dataPattern is the content of the written data. The default depends on the version of IOR. All default content is
	// compressible, which makes a store that compresses look faster. Random requires IOR 4.0.0 or later; Incompressible
	// works only before 4.0.0.
	// +optional
	// +kubebuilder:validation:Enum=Timestamp;Offset;Incompressible;Random
	DataPattern string `json:"dataPattern,omitempty"`

	// args are additional IOR command-line options, from a list of safe ones. Options that name a path, run a command
	// or load code are refused, as are options that a field or the operator sets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Args []string `json:"args,omitempty"`
}

// IORReorder determines which rank reads which data.
//
// +kubebuilder:validation:Enum=None;Constant;Random
type IORReorder string

// Possible values of IORReorder.
const (
	IORReorderNone     IORReorder = "None"
	IORReorderConstant IORReorder = "Constant"
	IORReorderRandom   IORReorder = "Random"
)

// MdtestProfile is a workload for mdtest, a metadata benchmark, under MPI.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.filesOnly) && self.filesOnly && has(self.directoriesOnly) && self.directoriesOnly)",message="directoriesOnly: cannot be combined with filesOnly; remove both to test both",fieldPath=".directoriesOnly"
// +kubebuilder:validation:XValidation:rule="!(has(self.directoriesOnly) && self.directoriesOnly && has(self.fileSize))",message="fileSize: requires files; remove fileSize or directoriesOnly",fieldPath=".fileSize"
type MdtestProfile struct {
	// filesPerProcess is the number of files that each rank creates and, if directories are tested, also the number of
	// directories that it creates.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	FilesPerProcess int64 `json:"filesPerProcess"`

	// uniqueDirectories gives each rank its own directory.
	// +optional
	UniqueDirectories *bool `json:"uniqueDirectories,omitempty"`

	// filesOnly skips the test of directories.
	// +optional
	FilesOnly *bool `json:"filesOnly,omitempty"`

	// directoriesOnly skips the test of files.
	// +optional
	DirectoriesOnly *bool `json:"directoriesOnly,omitempty"`

	// fileSize is the number of bytes written to each file. Defaults to 0, which only creates the files.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (!s.matches('[kMGTPE]$') || int(quantity(s).asApproximateFloat()) % 4096 == 0) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) >= 0 && !quantity(s).isGreaterThan(quantity('1Ti')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes up to 1Ti, such as 4Ki'"
	FileSize *resource.Quantity `json:"fileSize,omitempty"`

	// readSize is the number of bytes read from each file, at most fileSize. Defaults to fileSize; if fileSize is 0,
	// files are only opened and closed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (!s.matches('[kMGTPE]$') || int(quantity(s).asApproximateFloat()) % 4096 == 0) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) >= 0 && !quantity(s).isGreaterThan(quantity('1Ti')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes up to 1Ti, such as 4Ki'"
	ReadSize *resource.Quantity `json:"readSize,omitempty"`

	// depth is the depth of the directory tree.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Depth *int32 `json:"depth,omitempty"`

	// branching is the number of subdirectories of each directory.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Branching *int32 `json:"branching,omitempty"`

	// iterations is the number of iterations of the whole test. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Iterations *int32 `json:"iterations,omitempty"`

	// args are additional mdtest command-line options, from a list of safe ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Args []string `json:"args,omitempty"`
}
