package v1alpha1

// CommandSource names where bytes of a command were counted. They differ in
// what they see; docs/commands.md says what each misses.
//
// +kubebuilder:validation:Enum=Mount;ControlGroup;Storage;Calls
type CommandSource string

// The sources, the one that is believed first first.
const (
	// SourceMount is the statistics of the mount under test: of NFS, SMB or
	// Lustre. It counts what all programs of the machine do on it.
	SourceMount CommandSource = "Mount"
	// SourceControlGroup is the client's control group: what its block device
	// did for it.
	SourceControlGroup CommandSource = "ControlGroup"
	// SourceStorage is read_bytes and write_bytes of the program and all that
	// it started: what they had fetched from storage, and dirtied in memory
	// that is to go there.
	SourceStorage CommandSource = "Storage"
	// SourceCalls is rchar and wchar of the same: what they read and wrote by
	// system calls, of memory that caches files, of pipes and sockets too.
	SourceCalls CommandSource = "Calls"
)

// CommandResult is how a program of the user's ran.
type CommandResult struct {
	// commandLine that ran in client 0: the program and its arguments.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	CommandLine []string `json:"commandLine,omitempty"`

	// exitCode of the program; where clients differ, that of the first one that
	// did not end with the code of client 0. 128 and the signal where it was
	// killed.
	// +optional
	ExitCode int32 `json:"exitCode"`

	// durationNanoseconds from the start of the program to its end, of the
	// client that took longest.
	// +optional
	DurationNanoseconds int64 `json:"durationNanoseconds"`

	// flushNanoseconds that it took after that until what the program had left
	// in the memory of the client was on the storage, of the client that took
	// longest. Rates are over both.
	// +optional
	FlushNanoseconds int64 `json:"flushNanoseconds"`

	// cutShort says that the program was ended and did not end by itself.
	// +optional
	CutShort bool `json:"cutShort,omitempty"`

	// source of the bytes and operations of the result.
	// +optional
	Source CommandSource `json:"source,omitempty"`

	// disagreementPermille is the largest difference between that source and
	// another one that should count the same, of reads or of writes, in
	// thousandths of the larger count. Absent: no other source.
	// +optional
	DisagreementPermille *int64 `json:"disagreementPermille,omitempty"`

	// sources are all counts that there are, over all clients.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Sources []CommandCount `json:"sources,omitempty"`
}

// CommandCount is what one source counted.
type CommandCount struct {
	// source that counted.
	// +required
	Source CommandSource `json:"source"`

	// readBytes that it saw.
	// +optional
	ReadBytes int64 `json:"readBytes"`

	// writeBytes that it saw.
	// +optional
	WriteBytes int64 `json:"writeBytes"`

	// readOperations that it saw. Absent: it counts none.
	// +optional
	ReadOperations *int64 `json:"readOperations,omitempty"`

	// writeOperations that it saw. Absent: it counts none.
	// +optional
	WriteOperations *int64 `json:"writeOperations,omitempty"`
}
