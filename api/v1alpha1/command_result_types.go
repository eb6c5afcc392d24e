package v1alpha1

// CommandSource is the source of the byte counts of a command. docs/commands.md lists the I/O that each source misses.
//
// +kubebuilder:validation:Enum=Mount;ControlGroup;Storage;Calls
type CommandSource string

// Possible values of CommandSource, most trusted first.
const (
	// SourceMount uses the statistics of the mount under test (NFS, SMB or Lustre), which count the I/O to that mount
	// by all programs on the machine.
	SourceMount CommandSource = "Mount"
	// SourceControlGroup uses the statistics of the client's control group, which count the group's I/O on block devices.
	SourceControlGroup CommandSource = "ControlGroup"
	// SourceStorage uses read_bytes and write_bytes of the program and all processes that it started: bytes fetched from
	// storage, and bytes changed in memory and written to storage later.
	SourceStorage CommandSource = "Storage"
	// SourceCalls uses rchar and wchar of the program and all processes that it started: bytes read and written by system
	// calls, including I/O served by the page cache and I/O on pipes and sockets.
	SourceCalls CommandSource = "Calls"
)

// CommandResult is the outcome of a user-supplied program.
type CommandResult struct {
	// commandLine is the command line that ran in client 0: the program and its arguments.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	CommandLine []string `json:"commandLine,omitempty"`

	// exitCode is the exit code of the program: 0 if it is 0 in all clients, otherwise the first
	// nonzero one in client order. For a program that was killed, it is 128 plus the signal number.
	// +optional
	ExitCode int32 `json:"exitCode"`

	// durationNanoseconds is the longest time for which the program ran on any client.
	// +optional
	DurationNanoseconds int64 `json:"durationNanoseconds"`

	// flushNanoseconds is the longest additional time that any client needed to flush the data that the program left in
	// the client's memory. Rates cover the time until this flush ends.
	// +optional
	FlushNanoseconds int64 `json:"flushNanoseconds"`

	// cutShort is true if the program was stopped before it exited.
	// +optional
	CutShort bool `json:"cutShort,omitempty"`

	// source is the source of the bytes and operations in the result.
	// +optional
	Source CommandSource `json:"source,omitempty"`

	// disagreementPermille is the largest difference between the counts of the chosen source and of another source that
	// should count the same I/O, in thousandths of the larger count. Reads and writes are compared separately. Unset if
	// there is no other source.
	// +optional
	DisagreementPermille *int64 `json:"disagreementPermille,omitempty"`

	// sources are the counts summed over all clients, one entry per source whose counts can be summed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Sources []CommandCount `json:"sources,omitempty"`
}

// CommandCount holds the counts of one source.
type CommandCount struct {
	// source is the source of the counts.
	// +required
	Source CommandSource `json:"source"`

	// readBytes is the number of bytes read.
	// +optional
	ReadBytes int64 `json:"readBytes"`

	// writeBytes is the number of bytes written.
	// +optional
	WriteBytes int64 `json:"writeBytes"`

	// readOperations is the number of reads. Unset if the source does not count operations.
	// +optional
	ReadOperations *int64 `json:"readOperations,omitempty"`

	// writeOperations is the number of writes. Unset if the source does not count operations.
	// +optional
	WriteOperations *int64 `json:"writeOperations,omitempty"`
}
