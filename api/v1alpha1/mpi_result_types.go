package v1alpha1

// MPIRun is how a tool was run under MPI.
type MPIRun struct {
	// commandLine that ran: the program and its arguments, the same for all
	// ranks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=512
	CommandLine []string `json:"commandLine,omitempty"`

	// version of the tool.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// mpiVersion is that of Open MPI.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MPIVersion string `json:"mpiVersion,omitempty"`

	// ranks of the job.
	// +optional
	Ranks int32 `json:"ranks,omitempty"`

	// clients that the ranks ran in.
	// +optional
	Clients int32 `json:"clients,omitempty"`
}

// IORResult is what IOR says of itself.
type IORResult struct {
	MPIRun `json:",inline"`

	// api is IOR's interface to the storage.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	API string `json:"api,omitempty"`

	// dataPattern that was written. Absent: the default of IOR's version, which
	// compresses 4:1 in 3.3.0 and 2:1 in 4.0.0.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	DataPattern string `json:"dataPattern,omitempty"`

	// operations are the figures, one an operation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	Operations []IOROperation `json:"operations,omitempty"`
}

// IOROperation is the figures of one operation over its repetitions, each
// weighing the same, as IOR does.
type IOROperation struct {
	// operation that the figures are of.
	// +required
	Operation Operation `json:"operation"`

	// count of the repetitions that ended, listed or not. One that was ended
	// from outside is none of them.
	// +optional
	Count int32 `json:"count"`

	// maxBytesPerSecond is what IOR calls Max Write and Max Read.
	// +optional
	MaxBytesPerSecond int64 `json:"maxBytesPerSecond"`

	// minBytesPerSecond of a repetition.
	// +optional
	MinBytesPerSecond int64 `json:"minBytesPerSecond"`

	// meanBytesPerSecond over the repetitions.
	// +optional
	MeanBytesPerSecond int64 `json:"meanBytesPerSecond"`

	// standardDeviationBytesPerSecond over the repetitions.
	// +optional
	StandardDeviationBytesPerSecond int64 `json:"standardDeviationBytesPerSecond"`

	// meanNanoseconds that a repetition took.
	// +optional
	MeanNanoseconds int64 `json:"meanNanoseconds"`

	// bytes of all of them.
	// +optional
	Bytes int64 `json:"bytes"`

	// omittedRepetitions are between the first and the last ones that are
	// listed. They count in all other figures.
	// +optional
	OmittedRepetitions int32 `json:"omittedRepetitions,omitempty"`

	// repetitions in the order in which they ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Repetitions []IORRepetition `json:"repetitions,omitempty"`
}

// IORRepetition is one write or one read of all files. Its times are over all
// ranks, from the first start to the last end, and overlap.
type IORRepetition struct {
	// index counts from 0.
	// +optional
	Index int32 `json:"index"`

	// bytes that were moved.
	// +optional
	Bytes int64 `json:"bytes"`

	// bytesEstimated says that IOR did not print the bytes, and that they are
	// its rate times its time, as coarse as those are printed.
	// +optional
	BytesEstimated bool `json:"bytesEstimated,omitempty"`

	// bytesPerSecond is IOR's own: all bytes over totalNanoseconds.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`

	// iopsMilli is a thousand times the transfers a second of writing or
	// reading alone. Absent: IOR did not print it.
	// +optional
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`

	// openNanoseconds is for opening the files.
	// +optional
	OpenNanoseconds *int64 `json:"openNanoseconds,omitempty"`

	// transferNanoseconds is for writing or reading.
	// +optional
	TransferNanoseconds *int64 `json:"transferNanoseconds,omitempty"`

	// closeNanoseconds is for closing the files, after an fsync where that was
	// asked for.
	// +optional
	CloseNanoseconds *int64 `json:"closeNanoseconds,omitempty"`

	// totalNanoseconds of the repetition.
	// +optional
	TotalNanoseconds int64 `json:"totalNanoseconds"`
}

// MdtestResult is what mdtest says of itself.
type MdtestResult struct {
	MPIRun `json:",inline"`

	// rates by operation, over all ranks. They are mdtest's own figures:
	// mdtest counts the time that the slowest rank took.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Rates []MdtestRate `json:"rates,omitempty"`
}

// MdtestRate is one kind of operation, in thousandths of an operation a
// second, over the iterations.
type MdtestRate struct {
	// operation as mdtest names it, such as "File creation".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Operation string `json:"operation"`

	// maxOPSMilli of an iteration.
	// +optional
	MaxOPSMilli int64 `json:"maxOPSMilli"`

	// minOPSMilli of an iteration.
	// +optional
	MinOPSMilli int64 `json:"minOPSMilli"`

	// meanOPSMilli over the iterations.
	// +optional
	MeanOPSMilli int64 `json:"meanOPSMilli"`

	// standardDeviationOPSMilli over the iterations.
	// +optional
	StandardDeviationOPSMilli int64 `json:"standardDeviationOPSMilli"`
}
